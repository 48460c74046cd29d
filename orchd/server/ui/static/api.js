// Requests to the API, with the credentials of the user.

import {getToken} from './session.js';

/** An answer that is no success. `status` is the Status object of the server, or one made of the answer. */
export class ApiError extends Error {
  /** @param {number} code @param {Object} status */
  constructor(code, status) {
    super(status.message || `the server answered ${code}`);
    this.code = code;
    this.status = status;
  }
}

let signedOut = () => {};

/** Call `listener(message)` when the server no longer knows the user. */
export function onSignedOut(listener) {
  signedOut = listener;
}

/** A path with encoded segments. */
export function path(...segments) {
  return '/' + segments.map(encodeURIComponent).join('/');
}

/**
 * Send a request. Raises ApiError for an answer of 400 or above, TypeError when the server cannot be reached.
 * @param {string} method
 * @param {string} where  a path without a query
 * @param {{query?: Object, body?: string, type?: string, accept?: string, signal?: AbortSignal, quiet?: boolean}} [options]
 *   `quiet`: a 401 does not sign out
 * @returns {Promise<Response>}
 */
export async function request(method, where, options = {}) {
  // Browsers resolve such segments: a crafted address would lead to another object than the one it shows.
  if (where.split('/').some((each) => each === '.' || each === '..')) {
    throw new ApiError(404, {kind: 'Status', code: 404, reason: 'NotFound', message: `no such path: ${where}`});
  }
  const headers = {Accept: options.accept || 'application/json'};
  const token = getToken();
  if (token) headers.Authorization = `Bearer ${token}`;
  if (options.body !== undefined) headers['Content-Type'] = options.type || 'application/json';
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(options.query || {})) {
    if (value !== '' && value !== undefined && value !== null) query.append(name, value);
  }
  const text = query.toString();
  const answer = await fetch(text ? `${where}?${text}` : where, {
    method,
    headers,
    body: options.body,
    signal: options.signal,
    // With a token the browser must not add a client certificate, which would decide who the user is.
    credentials: token ? 'omit' : 'same-origin',
    cache: 'no-store',
    redirect: 'error',
    referrerPolicy: 'no-referrer',
  });
  if (answer.ok) return answer;
  const error = new ApiError(answer.status, await failure(answer));
  if (answer.status === 401 && !options.quiet) signedOut('The server no longer accepts the credentials: sign in again.');
  throw error;
}

async function failure(answer) {
  const text = (await answer.text()).slice(0, 100_000);
  try {
    const found = JSON.parse(text);
    if (found && found.kind === 'Status') return found;
  } catch {
    // Plain text.
  }
  return {kind: 'Status', code: answer.status, message: text.trim() || `the server answered ${answer.status}`};
}

/** The JSON of a GET, or of another method with a JSON body in `options.data`. */
export async function json(method, where, options = {}) {
  const sent = options.data === undefined ? options : {...options, body: JSON.stringify(options.data)};
  return (await request(method, where, sent)).json();
}

/** A message for people about a failure. */
export function explain(error) {
  if (error instanceof ApiError) return `${error.code}: ${error.message}`;
  if (error instanceof TypeError) return 'the server cannot be reached';
  return String(error && error.message ? error.message : error);
}
