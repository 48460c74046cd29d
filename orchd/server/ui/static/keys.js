// Keyboard shortcuts: single keys while no field has the focus, shown in the help.

/** @typedef {{key: string, text: string, run: (event: KeyboardEvent) => void}} Shortcut */

const OFF = 'orchd.shortcuts';
/** @type {Map<string, Shortcut[]>} */
const layers = new Map();

/** Set the shortcuts of one part of the page, by its name; an empty list removes them. */
export function setShortcuts(part, shortcuts) {
  layers.delete(part);
  if (shortcuts.length) layers.set(part, shortcuts);
}

/** All shortcuts by part, for the help. */
export function shortcuts() {
  return [...layers.entries()];
}

export function shortcutsEnabled() {
  try {
    return sessionStorage.getItem(OFF) !== 'off';
  } catch {
    return true;
  }
}

export function enableShortcuts(on) {
  try {
    sessionStorage.setItem(OFF, on ? 'on' : 'off');
  } catch {
    // Storage is off.
  }
}

/** True for elements that take text. */
function takesText(element) {
  return element instanceof HTMLElement && (element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName));
}

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector('dialog[open]')) return;
  if (event.key !== 'Escape' && (takesText(event.target) || !shortcutsEnabled())) return;
  // The newest part is asked first: a view before the frame around it.
  for (const list of [...layers.values()].reverse()) {
    const found = list.find((each) => each.key === event.key);
    if (found) {
      event.preventDefault();
      found.run(event);
      return;
    }
  }
});
