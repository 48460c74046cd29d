// Plots of the server's metrics, from the samples that it keeps.

import {explain, request} from './api.js';
import {h} from './dom.js';
import {Plot} from './plot.js';
import {isFinal} from './retry.js';
import {StateLine} from './state_line.js';

const PATH = '/debug/metrics';
const LIMIT = 10_000;
const SPAN = 10 * 60_000;
/** The time axis begins with this and grows. */
const LEAST_SPAN = 60_000;
/** Milliseconds until the next question, before the server said how often it samples. */
const SOON = 5000;

const number = (value) => (value === undefined || Number.isNaN(value) ? '–' : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : String(Number(value.toFixed(2))));
const perSecond = (value) => `${number(value)}/s`;
const seconds = (value) => (value === undefined || Number.isNaN(value) ? '–' : value < 1 ? `${number(value * 1000)} ms` : `${number(value)} s`);
const bytes = (value) => (value === undefined ? '–' : value >= 1 << 30 ? `${number(value / (1 << 30))} GiB` : `${number(value / (1 << 20))} MiB`);

/** The plots, by the names that the server has for them. */
const PLOTS = [
  {id: 'requests', title: 'Requests by verb', format: perSecond},
  {id: 'errors', title: 'Responses of 400 and above', format: perSecond},
  {id: 'latency', title: 'Latency without watches', format: seconds, of: quantiles},
  {id: 'queues', title: 'Requests in flight and in queues', format: number},
  {id: 'workqueues', title: 'Work queues of controllers', format: number},
  {id: 'pending', title: 'Pods that wait for the scheduler', format: number},
  {id: 'store', title: 'Store and history', format: bytes},
  {id: 'writes', title: 'Writes', format: perSecond},
  {id: 'objects', title: 'Objects', format: number},
  {id: 'watchers', title: 'Watches', format: number},
  {id: 'memory', title: 'Memory', format: bytes},
  {id: 'cpu', title: 'CPU', format: (value) => `${number(value * 100)} %`},
];

/** @returns {import('./frame.js').View} */
export function metricsView() {
  const stopping = new AbortController();
  const state = new StateLine({id: 'state'});
  const plots = PLOTS.map((each) => ({of: series, ...each, plot: new Plot(each), points: []}));
  const holder = h('div', {class: 'plots'}, plots.map((each) => each.plot.element));
  let last = 0;
  let every = SOON;
  let timer = 0;

  async function poll() {
    try {
      const response = await (await request('GET', `${PATH}?after=${last}`, {signal: stopping.signal, limit: LIMIT})).json();
      every = response.interval * 1000;
      take(response.samples);
      state.show('live', true);
      holder.hidden = false;
    } catch (error) {
      if (stopping.signal.aborted) return;
      if (isFinal(error)) {
        holder.hidden = true;
        return state.show(error.code === 403 ? `You may not read ${PATH}.` : explain(error), false, poll);
      }
      state.show(`${explain(error)}; trying again. The plots end with the last response.`);
    }
    if (!stopping.signal.aborted) timer = setTimeout(poll, every);
  }

  function take(samples) {
    if (!samples.length) return;
    last = samples[samples.length - 1].at;
    for (const each of plots) {
      each.points.push(...samples.map(({at, plots: values}) => ({at, values: each.of(values[each.id] || {})})));
      while (each.points[0].at < last - SPAN) each.points.shift();
      each.plot.draw(each.points, Math.max(LEAST_SPAN, last - each.points[0].at));
    }
  }

  poll();
  return {
    title: 'Metrics',
    element: h('section', {}, h('div', {class: 'bar'}, h('h1', {}, 'Metrics'), h('span', {class: 'note'}, 'the last ten minutes'), state.element), holder),
    stop: () => (stopping.abort(), clearTimeout(timer)),
  };
}

/** @param {Object<string, number>} values @returns {Map<string, number>} */
function series(values) {
  return new Map(Object.entries(values));
}

/** @param {Object<string, number>} counts  of requests, by the upper bound of each bucket; empty without requests @returns {Map<string, number>} */
function quantiles(counts) {
  const buckets = Object.entries(counts).map(([bound, count]) => ({bound: Number(bound.replace('+Inf', 'Infinity')), count})).sort((one, other) => one.bound - other.bound);
  return new Map((buckets.length ? [0.5, 0.9, 0.99] : []).map((share) => [`${share * 100} %`, quantile(buckets, share)]));
}

/** @param {{bound: number, count: number}[]} buckets  by bound */
function quantile(buckets, share) {
  let wanted = share * buckets.reduce((sum, {count}) => sum + count, 0);
  let low = 0;
  for (const {bound, count} of buckets) {
    if (count >= wanted) return bound === Infinity ? low : low + ((bound - low) * wanted) / count;
    wanted -= count;
    low = bound;
  }
  return low;
}
