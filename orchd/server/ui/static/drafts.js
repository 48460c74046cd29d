// Texts of the editor that are not stored: kept in memory, by user and object, when their view is left or the user has to
// sign in again.

import {session} from './session.js';

/** Texts that are kept; the oldest ones go. */
const MOST = 50;

/** @typedef {{text: string, start: string, object: Object}} Draft  `object`: what was edited, as it was read then; `start`: its text */
/** @type {Map<string, Draft>} */
const drafts = new Map();
let owner = '';

/** Forget the texts of another user. Called when a user has signed in. True for another user than before. */
export function claimDrafts() {
  const {name} = session().user;
  const other = owner !== name;
  if (other) drafts.clear();
  owner = name;
  return other;
}

export function forgetDrafts() {
  drafts.clear();
}

export function hasDrafts() {
  return drafts.size > 0;
}

/** @param {string} key @param {Draft|null} draft  null: nothing to keep */
export function keepDraft(key, draft) {
  drafts.delete(key);
  if (!draft) return;
  if (drafts.size >= MOST) drafts.delete(drafts.keys().next().value);
  drafts.set(key, draft);
}

/** @returns {Draft|undefined} */
export function draftOf(key) {
  return drafts.get(key);
}

// The browser asks before it leaves the page.
addEventListener('beforeunload', (event) => drafts.size && event.preventDefault());
