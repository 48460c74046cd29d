// The tail of the audit events: who asks what, as the server records it.

import {ApiError, explain, request} from './api.js';
import {button, h} from './dom.js';
import {Grid} from './grid.js';
import {jsonLines} from './lines.js';
import {toYaml} from './yaml_write.js';

const AUDIT = '/debug/audit';
/** Events that are kept, the newest ones. */
const MOST = 2000;
const AGAIN = 3000;

/** @returns {import('./frame.js').View} */
export function auditView() {
  const stopping = new AbortController();
  const events = [];
  let serial = 0;
  let lost = 0;
  let paused = false;
  let frame = 0;
  const count = h('span', {class: 'count', id: 'count'});
  const state = h('span', {class: 'state', id: 'state', role: 'status'}, 'loading');
  const text = h('input', {type: 'search', id: 'text', placeholder: 'Filter (/)', 'aria-label': 'Text filter', on: {input: () => later()}});
  const own = h('input', {type: 'checkbox', on: {change: () => later()}});
  const detail = h('pre', {class: 'yaml', id: 'detail', tabindex: 0, 'aria-label': 'Audit event', hidden: true});
  const pause = button('Pause', () => toggle(), {id: 'pause', 'aria-pressed': 'false', title: 'Pause (p)'});
  const grid = new Grid({label: 'Audit events', key: (event) => event.serial, open: show, empty: 'loading'});
  grid.setColumns([
    {title: 'Time', text: (event) => event.time},
    {title: 'User', text: (event) => event.user},
    {title: 'Verb', text: (event) => event.verb},
    {title: 'Request', text: (event) => event.uri},
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
  }

  function toggle() {
    paused = !paused;
    pause.setAttribute('aria-pressed', String(paused));
    pause.textContent = paused ? 'Go on' : 'Pause';
  }

  function show(event) {
    detail.hidden = false;
    detail.textContent = toYaml(event.event);
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
    while (!stopping.signal.aborted) {
      try {
        const answer = await request('GET', AUDIT, {accept: 'application/x-ndjson', signal: stopping.signal});
        state.textContent = '● live';
        grid.setEmpty('No requests yet');
        state.classList.add('live');
        events.length = 0;
        for await (const event of jsonLines(answer)) put(event);
      } catch (error) {
        if (stopping.signal.aborted) return;
        state.classList.remove('live');
        state.textContent = error.code === 403 ? `You may not read ${AUDIT}.` : `${explain(error)}; trying again`;
        grid.setEmpty(state.textContent);
        if (error instanceof ApiError && error.code < 500 && error.code !== 429) return;
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
  }

  run();
  return {
    title: 'Audit',
    element: h(
      'section',
      {class: 'fillview'},
      h('div', {class: 'bar'}, h('h1', {}, 'Audit events'), text, h('label', {class: 'check'}, own, 'Requests of this page'), pause, count, state),
      grid.element,
      detail,
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

