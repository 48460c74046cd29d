// Live plots of the server, from /metrics.

import {explain, request} from './api.js';
import {h} from './dom.js';
import {Plot} from './plot.js';
import {quantile, samples, sums} from './prometheus.js';
import {isFinal} from './retry.js';
import {StateLine} from './state_line.js';

const EVERY = 5000;
const LIMIT = 10_000;
const SPAN = 10 * 60_000;
/** The time axis begins with this and grows. */
const LEAST_SPAN = 60_000;
const LONG = new Set(['WATCH', 'CONNECT', 'PROXY']);
const NAMES = new Set([
  'apiserver_request_total', 'apiserver_request_duration_seconds_bucket', 'apiserver_current_inflight_requests',
  'apiserver_flowcontrol_current_inqueue_requests', 'apiserver_flowcontrol_current_executing_requests', 'workqueue_depth',
  'scheduler_pending_pods', 'orchd_store_file_bytes', 'orchd_store_writes_total', 'orchd_cache_window_bytes', 'orchd_cache_watchers',
  'process_resident_memory_bytes', 'process_cpu_seconds_total', 'apiserver_storage_objects',
]);

const number = (value) => (value === undefined || Number.isNaN(value) ? '–' : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : String(Number(value.toFixed(2))));
const perSecond = (value) => `${number(value)}/s`;
const seconds = (value) => (value === undefined || Number.isNaN(value) ? '–' : value < 1 ? `${number(value * 1000)} ms` : `${number(value)} s`);
const bytes = (value) => (value === undefined ? '–' : value >= 1 << 30 ? `${number(value / (1 << 30))} GiB` : `${number(value / (1 << 20))} MiB`);

/** What is plotted: `rate` series are differences per second of what `of` gives. */
const PLOTS = [
  {id: 'requests', title: 'Requests by verb', format: perSecond, rate: true, of: (list) => sums(list, 'apiserver_request_total', (labels) => labels.verb || 'other')},
  {id: 'errors', title: 'Answers of 400 and above', format: perSecond, rate: true, of: (list) => sums(list, 'apiserver_request_total', (labels) => (labels.code >= '400' ? labels.code : null))},
  {id: 'latency', title: 'Latency without watches', format: seconds, of: latency},
  {id: 'queues', title: 'Requests in flight and in queues', format: number, of: inFlight},
  {id: 'workqueues', title: 'Work queues of controllers', format: number, of: (list) => sums(list, 'workqueue_depth', (labels) => labels.name)},
  {id: 'pending', title: 'Pods that wait for the scheduler', format: number, of: (list) => sums(list, 'scheduler_pending_pods', (labels) => labels.queue || 'pending')},
  {id: 'store', title: 'Store and history', format: bytes, of: (list) => new Map([['store', one(list, 'orchd_store_file_bytes')], ['history of watches', one(list, 'orchd_cache_window_bytes')]].filter(([, value]) => value !== undefined))},
  {id: 'writes', title: 'Writes', format: perSecond, rate: true, of: (list) => sums(list, 'orchd_store_writes_total', () => 'writes')},
  {id: 'objects', title: 'Objects', format: number, of: (list) => sums(list, 'apiserver_storage_objects', (labels) => labels.resource)},
  {id: 'watchers', title: 'Watches', format: number, of: (list) => sums(list, 'orchd_cache_watchers', (labels) => labels.resource || 'watches')},
  {id: 'memory', title: 'Memory', format: bytes, of: (list) => sums(list, 'process_resident_memory_bytes', () => 'resident')},
  {id: 'cpu', title: 'CPU', format: (value) => `${number(value * 100)} %`, rate: true, of: (list) => sums(list, 'process_cpu_seconds_total', () => 'this process')},
];

function one(list, name) {
  const found = sums(list, name, () => '');
  return found.get('');
}

function inFlight(list) {
  const found = sums(list, 'apiserver_current_inflight_requests', (labels) => labels.request_kind);
  for (const [level, value] of sums(list, 'apiserver_flowcontrol_current_inqueue_requests', (labels) => labels.priority_level)) found.set(`waiting: ${level}`, value);
  return found;
}

function latency(list, memory) {
  const now = new Map();
  for (const {name, labels, value} of list) {
    if (name !== 'apiserver_request_duration_seconds_bucket' || LONG.has(labels.verb)) continue;
    const bound = Number(labels.le.replace('+Inf', 'Infinity'));
    now.set(bound, (now.get(bound) || 0) + value);
  }
  const before = memory.latency;
  memory.latency = now;
  const found = new Map();
  if (before) for (const share of [0.5, 0.9, 0.99]) found.set(`${share * 100} %`, quantile(before, now, share));
  return found;
}

/**
 * What was plotted before, for a view that is opened again within SPAN: the server keeps no history.
 * @type {Map<string, {points: Object[], last: Object|null}>}
 */
const before = new Map();

/** @returns {import('./frame.js').View} */
export function metricsView() {
  const stopping = new AbortController();
  const state = new StateLine({id: 'state'});
  const plots = PLOTS.map((each) => ({...each, plot: new Plot(each), points: [], last: null, ...before.get(each.id)}));
  const holder = h('div', {class: 'plots'}, plots.map((each) => each.plot.element));
  const memory = {};
  let timer = 0;

  async function poll() {
    try {
      const text = await (await request('GET', '/metrics', {accept: 'text/plain', signal: stopping.signal, limit: LIMIT})).text();
      take(samples(text, NAMES), Date.now());
      state.show('live', true);
      holder.hidden = false;
    } catch (error) {
      if (stopping.signal.aborted) return;
      if (isFinal(error)) {
        holder.hidden = true;
        return state.show(error.code === 403 ? 'You may not read /metrics.' : explain(error), false, poll);
      }
      state.show(`${explain(error)}; trying again. The plots end with the last answer.`);
    }
    if (!stopping.signal.aborted) timer = setTimeout(poll, EVERY);
  }

  function take(list, at) {
    for (const each of plots) {
      const found = each.of(list, memory);
      const values = each.rate ? rates(each.last, {at, values: found}) : found;
      each.last = {at, values: found};
      each.points.push({at, values});
      before.set(each.id, {points: each.points, last: each.last});
      while (each.points[0].at < at - SPAN) each.points.shift();
      each.plot.draw(each.points, Math.max(LEAST_SPAN, at - each.points[0].at));
    }
  }

  poll();
  return {
    title: 'Metrics',
    element: h('section', {}, h('div', {class: 'bar'}, h('h1', {}, 'Metrics'), h('span', {class: 'note'}, 'since this page first showed them, ten minutes at most: the server keeps no history'), state.element), holder),
    stop: () => (stopping.abort(), clearTimeout(timer)),
  };
}

/** Differences per second; a counter that fell began anew. */
function rates(last, now) {
  const found = new Map();
  if (!last) return found;
  for (const [name, value] of now.values) {
    const before = last.values.get(name) || 0;
    found.set(name, ((value >= before ? value - before : value) * 1000) / (now.at - last.at));
  }
  return found;
}
