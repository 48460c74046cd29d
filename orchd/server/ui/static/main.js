// The entry: signs in, reads what is served, and shows the view of the address.

import {explain, onForbidden, onSignedOut} from './api.js';
import {startAsking, stopAsking} from './connection.js';
import {discover} from './discovery.js';
import {button, fill, h} from './dom.js';
import {claimDrafts, forgetDrafts, hasDrafts} from './drafts.js';
import {Frame} from './frame.js';
import {openDialog} from './help.js';
import {setShortcuts} from './keys.js';
import {forgetListStates} from './list_view.js';
import {Backoff, isFinal} from './retry.js';
import {forgetRights} from './rights.js';
import {forgetLists} from './routes.js';
import {getToken, session, setSession, setToken} from './session.js';
import {askWho, readSession, signIn} from './signin.js';

const REFUSED = 'The server no longer accepts the credentials: sign in again.';
const app = document.getElementById('app');
/** @type {Frame|null} */
let frame = null;
/** Aborts requests that were started while no user is signed in. */
let starting = new AbortController();

function leave() {
  if (frame) frame.stop();
  frame = null;
  stopAsking();
  starting.abort();
  starting = new AbortController();
  for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close();
  setShortcuts('view', []);
  setShortcuts('page', []);
  forgetRights();
  setSession({user: null, certificate: false, names: {}});
}

async function askToSignIn(message = '') {
  leave();
  const {signal} = starting;
  const view = await signIn(message, enter);
  if (signal.aborted) return;
  document.title = 'Sign in · orchd';
  fill(app, view.element);
  view.focus();
}

/** Show what is waited for. */
function showWaiting(text) {
  document.title = 'orchd';
  fill(app, h('main', {class: 'center', 'aria-label': 'Content'}, h('div', {}, h('p', {role: 'status'}, text), button('Sign in anew', () => signOut()))));
}

/** The result of `call`, which is tried until the server responds; undefined after an abort. Raises errors that are final. */
async function patiently(call) {
  const {signal} = starting;
  const backoff = new Backoff();
  while (!signal.aborted) {
    backoff.begin();
    try {
      const found = await call();
      return signal.aborted ? undefined : found;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (isFinal(error)) throw error;
      showWaiting(`${explain(error)}; trying again`);
      await backoff.pause(signal, error);
    }
  }
  return undefined;
}

async function enter() {
  showWaiting(`Loading as ${session().user.name}`);
  let missing;
  try {
    missing = await patiently(discover);
  } catch (error) {
    await (error.code === 401 ? signOut(REFUSED) : askToSignIn(`The server does not tell what it serves: ${explain(error)}`));
    return;
  }
  if (!missing) return;
  if (claimDrafts()) forgetViews();
  frame = new Frame({signOut: leaveOnPurpose});
  fill(app, frame.element);
  startAsking(stillKnown);
  frame.start();
  if (missing.length) frame.tell(`not available: ${missing.join(', ')}`);
}

/** Rejects when the server does not respond; signs out when the session belongs to another user. */
async function stillKnown() {
  const before = session().user;
  let found;
  try {
    found = (await askWho()).user;
  } catch (error) {
    if (isFinal(error)) return;
    throw error;
  }
  if (frame && before && (!found || found.name !== before.name)) signOut(REFUSED);
}

function signOut(message = '') {
  setToken('', false);
  return askToSignIn(message);
}

/** Forget what was looked at. */
function forgetViews() {
  forgetLists();
  forgetListStates();
}

/** Sign out; asks first when that loses text. */
function leaveOnPurpose() {
  const end = () => (forgetDrafts(), forgetViews(), signOut());
  if (!hasDrafts()) return end();
  const dialog = h(
    'dialog',
    {'aria-labelledby': 'leave-title'},
    h('h2', {id: 'leave-title'}, 'Sign out?'),
    h('p', {}, 'Text in the editor that was not stored will be lost.'),
    h('div', {class: 'actions'}, button('Sign out', end, {class: 'danger', id: 'confirm-leave'}), button('Cancel', () => dialog.close(), {autofocus: true})),
  );
  return openDialog(dialog);
}

// The text of the editor outlives this: it is there again after the same user has signed in.
onSignedOut(() => frame && signOut(REFUSED));
onForbidden(forgetRights);

async function start() {
  try {
    const known = getToken() && (await patiently(readSession));
    if (known) await enter();
    else if (known !== undefined) await askToSignIn();
  } catch (error) {
    await askToSignIn(explain(error));
  }
}

start();
