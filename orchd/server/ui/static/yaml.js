// YAML of JSON values: the server writes and reads it.

import {request} from './api.js';
import {Backoff, isFinal} from './retry.js';

const WHERE = '/ui/yaml';
const TYPE = 'application/yaml';

/**
 * The YAML of a value. Tries again until the server responds; raises ApiError when it refuses, and the reason of `signal`.
 * @param {*} value @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
export async function toYaml(value, signal) {
  const body = JSON.stringify(value);
  const backoff = new Backoff();
  for (;;) {
    backoff.begin();
    try {
      return await (await request('POST', WHERE, {body, accept: TYPE, signal})).text();
    } catch (error) {
      signal.throwIfAborted();
      if (isFinal(error)) throw error;
      await backoff.pause(signal, error);
      signal.throwIfAborted();
    }
  }
}

/** The value of a text. Raises ApiError 400, whose message names the line, and an Error for a number that JavaScript would round. */
export async function fromYaml(text, signal) {
  const response = await request('POST', WHERE, {body: text, type: TYPE, signal});
  return JSON.parse(await response.text(), exact);
}

function exact(name, value) {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new Error(`${name}: whole numbers above 2^53 cannot be edited here`);
  return value;
}

/**
 * Shows the newest of several values: those that come while one is converted are skipped.
 * @param {(text: string) => void} show @param {(error: Error) => void} failed @param {AbortSignal} signal
 * @returns {(value: *) => Promise<void>}
 */
export function newestYaml(show, failed, signal) {
  let newest = 0;
  return async (value) => {
    const turn = ++newest;
    try {
      const text = await toYaml(value, signal);
      if (turn === newest) show(text);
    } catch (error) {
      if (turn === newest && !signal.aborted) failed(error);
    }
  };
}
