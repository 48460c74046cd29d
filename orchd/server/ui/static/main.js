// The entry: signs in, reads what is served, and shows the view of the address.

import {explain, onSignedOut} from './api.js';
import {discover} from './discovery.js';
import {fill, h} from './dom.js';
import {Frame} from './frame.js';
import {setShortcuts} from './keys.js';
import {forgetRights} from './rights.js';
import {getToken, session, setSession, setToken} from './session.js';
import {readSession, signIn} from './signin.js';

const app = document.getElementById('app');
/** @type {Frame|null} */
let frame = null;

function leave() {
  if (frame) frame.stop();
  frame = null;
  setShortcuts('view', []);
  setShortcuts('page', []);
  forgetRights();
  setSession({user: null, certificate: false, names: {}});
}

async function askToSignIn(message = '') {
  leave();
  const view = await signIn(message, enter);
  fill(app, view.element);
  view.focus();
}

async function enter() {
  fill(app, h('main', {class: 'center'}, h('p', {role: 'status'}, `Loading as ${session().user.name}`)));
  let missing;
  try {
    missing = await discover();
  } catch (error) {
    if (error.code !== 401) await askToSignIn(`The server does not tell what it serves: ${explain(error)}`);
    return;
  }
  frame = new Frame({signOut: () => signOut()});
  fill(app, frame.element);
  frame.start();
  if (missing.length) frame.tell(`not available: ${missing.join(', ')}`);
}

function signOut(message = '') {
  setToken('', false);
  return askToSignIn(message);
}

onSignedOut((message) => frame && signOut(message));

async function start() {
  try {
    if (getToken() && (await readSession())) await enter();
    else await askToSignIn();
  } catch (error) {
    await askToSignIn(explain(error));
  }
}

start();
