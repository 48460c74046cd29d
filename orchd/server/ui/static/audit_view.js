// The tail of the audit events: who asks what, as the server records it.

import {announce} from './announce.js';
import {explain, request} from './api.js';
import {whileConnected} from './connection.js';
import {detailOf} from './detail.js';
import {button, h} from './dom.js';
import {Grid} from './grid.js';
import {jsonLines} from './lines.js';
import {Backoff, isFinal} from './retry.js';
import {StateLine} from './state_line.js';

const AUDIT = '/debug/audit';
/** Events that are kept, the newest ones. */
const MOST = 2000;

/** @returns {import('./frame.js').View} */
export function auditView() {
  const stopping = new AbortController();
  const events = [];
  let serial = 0;
  let lost = 0;
  let paused = false;
  let frame = 0;
  /** The number of events is spoken after the filter has changed, not after each event. */
  let spoken = true;
  const count = h('span', {class: 'count', id: 'count'});
  const state = new StateLine({id: 'state'});
  const text = h('input', {type: 'search', id: 'text', placeholder: 'Filter (/)', 'aria-label': 'Text filter', on: {input: () => (later(), (spoken = false))}});
  const own = h('input', {type: 'checkbox', on: {change: () => later()}});
  const pause = button('Pause', () => toggle(), {id: 'pause', 'aria-pressed': 'false', title: 'Pause (p)'});
  const grid = new Grid({label: 'Audit events', key: (event) => event.serial, open: (event) => detail.show(event.event), empty: 'loading'});
  const detail = detailOf('Audit event', () => grid.focus(), stopping.signal);
  grid.setColumns([
    {title: 'Time', text: (event) => event.time},
    {title: 'User', text: (event) => event.user},
    {title: 'Verb', text: (event) => event.verb},
    {title: 'Request', main: true, text: (event) => event.uri},
    {title: 'Code', text: (event) => event.code, tone: (event) => (event.code >= '400' ? 'bad' : '')},
    {title: 'Client', text: (event) => event.agent},
    {title: 'Stage', text: (event) => event.stage},
  ]);

  function later() {
    frame = frame || requestAnimationFrame(draw);
  }

  function draw() {
    frame = 0;
    const words = text.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const rows = events.filter((event) => (own.checked || !event.own) && words.every((word) => event.search.includes(word)));
    grid.setRows(rows.reverse());
    count.textContent = `${rows.length} events${lost ? `, ${lost} lost: more than this page could take` : ''}`;
    if (!spoken) announce(count.textContent);
    spoken = true;
  }

  function toggle() {
    paused = !paused;
    pause.setAttribute('aria-pressed', String(paused));
    pause.textContent = paused ? 'Go on' : 'Pause';
  }

  function put(event) {
    if (event.lost) lost += event.lost;
    else if (!paused) {
      events.push(row(event, ++serial));
      if (events.length > MOST) events.splice(0, events.length - MOST);
    }
    later();
  }

  async function run() {
    const backoff = new Backoff();
    while (!stopping.signal.aborted) {
      const connected = whileConnected(stopping.signal);
      let failure = null;
      backoff.begin();
      try {
        const response = await request('GET', AUDIT, {accept: 'application/x-ndjson', signal: connected.signal});
        tell('live', true);
        events.length = 0;
        for await (const event of jsonLines(response)) put(event);
        tell('the stream has ended; trying again');
      } catch (error) {
        failure = error;
      } finally {
        connected.release();
      }
      if (stopping.signal.aborted) return;
      if (failure && isFinal(failure)) {
        events.length = 0;
        later();
        await new Promise((resolve) => tell(failure.code === 403 ? `You may not read ${AUDIT}.` : explain(failure), false, resolve));
        continue;
      }
      if (failure) tell(`${explain(failure)}; trying again`);
      await backoff.pause(stopping.signal, failure);
    }
  }

  function tell(text, live = false, again = null) {
    state.show(text, live, again);
    grid.setEmpty(live ? 'No requests yet' : text);
  }

  run();
  return {
    title: 'Audit',
    element: h(
      'section',
      {class: 'fillview'},
      h('div', {class: 'bar'}, h('h1', {}, 'Audit events'), text, h('label', {class: 'check'}, own, 'Requests of this page'), pause, count, state.element),
      grid.element,
      detail.element,
    ),
    focus: () => grid.focus(),
    stop: () => (stopping.abort(), cancelAnimationFrame(frame), grid.stop()),
    shortcuts: [
      {key: '/', text: 'filter by text', run: () => text.focus()},
      {key: 'p', text: 'pause, go on', run: toggle},
    ],
  };
}

function row(event, serial) {
  const user = (event.impersonatedUser || event.user || {}).username || '';
  const fields = {
    time: (event.stageTimestamp || '').slice(11, 23),
    user,
    verb: event.verb || '',
    uri: event.requestURI || '',
    code: String((event.responseStatus && event.responseStatus.code) || ''),
    agent: event.userAgent || '',
    stage: event.stage || '',
  };
  return {...fields, serial: String(serial), event, own: fields.agent === navigator.userAgent, search: Object.values(fields).join(' ').toLowerCase()};
}

