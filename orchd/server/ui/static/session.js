// Who is signed in. The token is kept in memory; in sessionStorage only when the user asks for it; in no URL ever.

const KEY = 'orchd.token';

/**
 * @typedef {Object} Session
 * @property {{name: string, groups: string[]}|null} user  null if no user is signed in
 * @property {boolean} certificate  the browser sent a client certificate
 * @property {Object<string, string|string[]>} names  names of the server's dialect, for requests; `groups` are its own API groups
 */

let token = stored();
/** @type {Session} */
let current = {user: null, certificate: false, names: {}};

function stored() {
  try {
    return sessionStorage.getItem(KEY) || '';
  } catch {
    return '';
  }
}

export function session() {
  return current;
}

export function setSession(found) {
  current = found;
}

export function getToken() {
  return token;
}

/** Use a token from now on; `keep` also after a reload of this tab. */
export function setToken(value, keep) {
  token = value;
  try {
    if (value && keep) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  } catch {
    // Storage is off: the token lasts as long as the page.
  }
}
