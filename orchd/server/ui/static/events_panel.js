// Events about an object, as they are recorded.

import {age} from './ages.js';
import {fieldIs, path} from './api.js';
import {detailOf} from './detail.js';
import {h} from './dom.js';
import {follow} from './follow.js';
import {Grid} from './grid.js';
import {compare} from './order.js';
import {withoutManagers} from './shown.js';
import {StateLine} from './state_line.js';

/** Events that are kept, the newest ones. */
const MOST = 1000;

export function eventsPanel(object) {
  const stopping = new AbortController();
  const found = new Map();
  const state = new StateLine();
  const moment = (event) => event.lastTimestamp || event.eventTime || event.firstTimestamp || event.metadata.creationTimestamp;
  const grid = new Grid({label: 'Events', key: (event) => event.metadata.uid, open: (event) => detail.show(withoutManagers(event)), empty: 'No events'});
  const detail = detailOf('Event', () => grid.focus(), stopping.signal);
  grid.setColumns([
    {title: 'Last seen', text: (event) => age(moment(event))},
    {title: 'Type', text: (event) => event.type || '', tone: (event) => (event.type === 'Warning' ? 'bad' : '')},
    {title: 'Reason', text: (event) => event.reason || ''},
    {title: 'Count', text: (event) => String((event.series && event.series.count) || event.count || 1)},
    {title: 'From', text: (event) => event.reportingComponent || (event.source && event.source.component) || ''},
    {title: 'Message', main: true, text: (event) => event.message || ''},
  ]);
  let frame = 0;
  const draw = () => {
    frame = 0;
    const rows = [...found.values()].sort((one, other) => compare(moment(other), moment(one)));
    for (const event of rows.splice(MOST)) found.delete(event.metadata.uid);
    grid.setRows(rows);
  };
  const put = (response, type) => {
    for (const event of type === 'LIST' ? response.items || [] : [response]) {
      if (type === 'DELETED') found.delete(event.metadata.uid);
      else found.set(event.metadata.uid, event);
    }
    frame = frame || requestAnimationFrame(draw);
  };
  const status = (text, live, again) => {
    state.show(text, live, again);
    grid.setEmpty(live ? 'No events' : text);
  };
  follow({
    where: path('api', 'v1', 'namespaces', object.metadata.namespace || 'default', 'events'),
    query: {fieldSelector: fieldIs('involvedObject.uid', object.metadata.uid)},
    accept: 'application/json',
    listener: {begin: () => found.clear(), complete: draw, put, status},
    signal: stopping.signal,
  });
  const timer = setInterval(() => grid.refresh(), 5000);
  return {element: h('div', {class: 'panelpart filling'}, h('p', {}, state.element), grid.element, detail.element), stop: () => (clearInterval(timer), stopping.abort(), grid.stop())};
}
