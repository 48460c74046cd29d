// Sign-in: a token, or the client certificate that the browser has sent.

import {explain, json} from './api.js';
import {button, fill, h} from './dom.js';
import {getToken, session, setSession, setToken} from './session.js';

const SESSION = '/ui/session';
/** Milliseconds for the response to a question that the server responds to at once. */
const LIMIT = 10_000;
const RECIPE = [
  'orchctl create serviceaccount viewer -n default',
  'orchctl create clusterrolebinding viewer --clusterrole=view --serviceaccount=default:viewer',
  'orchctl create token viewer -n default --duration=1h',
].join('\n');
const SENDABLE = /^[\x21-\x7e]+$/;

/** Whom the server takes the user for: {user, certificate, names}. A 401 signs out, unless `quiet`. */
export function askWho(quiet = false) {
  return json('GET', SESSION, {quiet, limit: LIMIT});
}

/** Ask the server who the user is. True if a user is signed in. Raises the errors of `json` except 401. */
export async function readSession() {
  try {
    setSession(await askWho(true));
  } catch (error) {
    if (error.code !== 401) throw error;
    setSession({user: null, certificate: false, names: {}});
  }
  return session().user !== null;
}

/**
 * The sign-in view. `done` is called after a successful sign-in.
 * @param {string} message  why the user has to sign in
 * @param {() => void} done
 */
export async function signIn(message, done) {
  const problem = h('p', {role: 'alert', class: 'problem', id: 'refusal', hidden: !message}, message);
  const token = h('input', {id: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false', required: true, 'aria-describedby': 'refusal'});
  const keep = h('input', {id: 'keep', type: 'checkbox'});
  const submit = async (event) => {
    event.preventDefault();
    const given = token.value.trim();
    let known = false;
    try {
      // Browsers refuse to send other characters.
      if (!SENDABLE.test(given)) throw new Error('A token has ASCII characters alone, without spaces.');
      setToken(given, keep.checked);
      known = await readSession();
      fill(problem, known ? '' : 'The server does not accept this token.');
    } catch (error) {
      fill(problem, explain(error));
    }
    problem.hidden = known;
    token.setAttribute('aria-invalid', String(!known));
    if (known) return done();
    setToken('', false);
    return token.select();
  };
  const form = h(
    'form',
    {class: 'signin', on: {submit}},
    h('h1', {}, 'orchd'),
    problem,
    h('label', {for: 'token'}, 'Bearer token'),
    token,
    h('details', {}, h('summary', {}, 'Where do I get a token?'), h('p', {class: 'note'}, 'With the client configuration of the administrator, on a machine that has it, make a service account and a token for it. This one may see the built-in kinds of all namespaces but secrets and roles; with the role cluster-admin instead of view it may do everything:'), h('pre', {class: 'yaml', tabindex: 0}, RECIPE), h('p', {class: 'note'}, 'Tokens of --token-auth-file and of an OpenID issuer of this server work too.')),
    h('label', {class: 'check'}, keep, 'Keep it in this tab until the tab is closed'),
    h('button', {type: 'submit', class: 'primary'}, 'Sign in'),
    await certificateChoice(done),
  );
  return {element: h('main', {class: 'center', 'aria-label': 'Sign in'}, form), focus: () => token.focus()};
}

/** What to do with the certificate that the browser sent, or how to get one. */
async function certificateChoice(done) {
  if (getToken()) setToken('', false);
  let known = false;
  try {
    known = await readSession();
  } catch {
    // The form says what is wrong when it is used.
  }
  const user = session().user;
  if (!known || !user) return h('p', {class: 'note'}, 'With a client certificate in the browser no token is needed: reload the page and choose it.');
  return h('p', {}, button(`Continue as ${user.name}`, done, {id: 'certificate'}), ' with the client certificate of this browser');
}
