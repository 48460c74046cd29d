// The editor of an object: checks an edit on the server without storing it, shows what would change, and stores it by
// server-side apply or by replacement.

import {announce} from './announce.js';
import {ApiError, explain, json} from './api.js';
import {conflictsElement, isConflict} from './conflicts.js';
import {diffElement} from './diff.js';
import {button, fill, h} from './dom.js';
import {draftOf, keepDraft} from './drafts.js';
import {editable, intentOf, MANAGER, same} from './intent.js';
import {may} from './rights.js';
import {fromYaml, toYaml} from './yaml.js';

const APPLY = 'application/apply-patch+yaml';

export class Editor {
  /**
   * @param {{resource: Object, object: Object, where: string, tell: (text: string) => void, isNew?: boolean,
   *   applied: (object: Object) => void}} options  `object` is what is edited; a new one for `isNew`
   */
  constructor({resource, object, where, tell, applied, isNew = false}) {
    Object.assign(this, {resource, where, tell, applied, isNew});
    this.stopping = new AbortController();
    this.running = false;
    /** Number of the object whose text was asked for last. */
    this.turn = 0;
    this.allowed = true;
    this.object = this.newest = object;
    this.start = '';
    this.draft = isNew ? `new ${resource.group}/${resource.name}` : where;
    this.text = h('textarea', {class: 'editor', id: 'editor', spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', wrap: 'off', 'aria-label': 'YAML of the object', on: {input: () => this.edited(), keydown: (e) => this.keyed(e)}});
    this.problem = h('div', {role: 'alert', id: 'problem'});
    this.result = h('div', {id: 'result'});
    this.force = h('input', {type: 'checkbox', id: 'force'});
    this.forcing = h('label', {class: 'check', hidden: true}, this.force, 'Force: take over the fields of the other owners');
    this.replacing = h('input', {type: 'checkbox', id: 'replace', on: {change: () => this.edited()}});
    this.check = button('Dry run', () => this.run(true), {id: 'dry-run', title: 'Ask the server what would change (Ctrl+Enter)'});
    this.save = button('Apply', () => this.run(false), {id: 'apply', class: 'primary'});
    this.stale = h('p', {class: 'note', id: 'stale', hidden: true}, 'The object has changed on the server. ', button('Load it again', () => this.reload(), {id: 'reload'}));
    this.restored = h('p', {class: 'note', id: 'restored', role: 'status', hidden: true}, 'This text was edited before and is not stored. ', button('Discard it', () => this.reload(), {id: 'discard'}));
    this.element = h(
      'div',
      {class: 'panelpart editing'},
      this.restored,
      this.stale,
      this.text,
      h(
        'div',
        {class: 'actions'},
        this.check,
        this.save,
        isNew ? null : button('Revert', () => this.reload(), {id: 'revert'}),
        isNew ? null : h('label', {class: 'check'}, this.replacing, 'Replace the whole object (also removes fields of other owners)'),
        this.forcing,
      ),
      this.problem,
      this.result,
    );
    const draft = draftOf(this.draft);
    if (draft) this.restore(draft, object);
    else {
      // Until the server has written the text.
      this.text.readOnly = true;
      this.edited();
      this.load(object);
    }
    this.permissions();
  }

  /** Go on with a text that was left before it was stored; what it changes is measured by the object that it was made from. */
  restore(draft, object) {
    this.newest = draft.object;
    this.put(draft.object, draft.start);
    this.text.value = draft.text;
    this.edited();
    this.restored.hidden = false;
    this.changed(object);
  }

  stop() {
    this.stopping.abort();
  }

  async permissions() {
    const {name, namespace = ''} = this.object.metadata;
    const allowed = await may(this.isNew ? 'create' : 'patch', this.resource, namespace, name).catch(() => true);
    this.replacing.disabled = !(await may('update', this.resource, namespace, name).catch(() => true));
    if (allowed) return;
    this.allowed = false;
    this.check.disabled = this.save.disabled = true;
    this.text.readOnly = true;
    fill(this.problem, h('p', {class: 'note'}, this.isNew ? 'You may not create this.' : 'You may not change this object.'));
  }

  /** Replace the text by that of an object, unless another object or an edit comes first. */
  async load(object) {
    const before = this.text.value;
    const turn = ++this.turn;
    this.newest = object;
    try {
      const start = await toYaml(editable(object), this.stopping.signal);
      if (turn !== this.turn) return;
      if (this.text.value !== before) this.stale.hidden = false;
      else {
        this.put(object, start);
        if (this.newest !== object) this.changed(this.newest);
      }
    } catch (error) {
      if (turn !== this.turn || this.stopping.signal.aborted) return;
      fill(this.problem, h('p', {class: 'problem'}, explain(error)));
      this.stale.hidden = false;
    }
  }

  /** Show the newest object in place of the text; the button that asked for it may be hidden by that. */
  async reload() {
    this.text.focus();
    await this.load(this.newest);
    if (this.text.value === this.start) this.edited();
  }

  put(object, start) {
    this.object = object;
    this.text.value = this.start = start;
    this.text.readOnly = !this.allowed;
    this.stale.hidden = this.restored.hidden = true;
  }

  /** The object has changed on the server: shown at once unless the user has edited it. */
  changed(object) {
    this.newest = object;
    if (object.metadata.resourceVersion === this.object.metadata.resourceVersion) return;
    // Only the status, or managers: what is edited is the same.
    if (sameObject(object, this.object) && same(editable(object), editable(this.object))) {
      this.object = object;
      if (this.text.value !== this.start) keepDraft(this.draft, {text: this.text.value, start: this.start, object});
    }
    // The messages of the last edit remain visible.
    else if (this.text.value === this.start) this.load(object);
    else this.stale.hidden = false;
  }

  edited() {
    const {value} = this.text;
    keepDraft(this.draft, value === this.start ? null : {text: value, start: this.start, object: this.object});
    fill(this.problem);
    fill(this.result);
    this.forcing.hidden = true;
    this.force.checked = false;
    this.save.textContent = this.isNew ? 'Create' : this.replacing.checked ? 'Replace' : 'Apply';
    this.text.removeAttribute('aria-invalid');
  }

  keyed(event) {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.run(true);
    }
  }

  /** The edited object; null for invalid text, after showing the reason. Raises what `fromYaml` raises for a server that does not respond. */
  async read() {
    const text = this.text.value;
    try {
      const found = await fromYaml(text, this.stopping.signal);
      if (!found || typeof found !== 'object' || Array.isArray(found)) throw new Error('the document is no object');
      const {apiVersion, kind, metadata} = this.object;
      if (found.apiVersion !== apiVersion || found.kind !== kind) throw new Error(`apiVersion and kind must stay ${apiVersion} ${kind}`);
      if (!found.metadata || typeof found.metadata.name !== 'string' || !found.metadata.name) throw new Error('metadata.name is missing');
      if (!this.isNew && (found.metadata.name !== metadata.name || (found.metadata.namespace || '') !== (metadata.namespace || ''))) throw new Error('name and namespace cannot be changed');
      return found;
    } catch (error) {
      const refused = error instanceof ApiError && error.code === 400;
      if (this.stopping.signal.aborted || !(refused || error.constructor === Error)) throw error;
      this.text.setAttribute('aria-invalid', 'true');
      fill(this.problem, h('p', {class: 'problem'}, error.message));
      // A problem of the first line is shown without its number.
      if (refused && this.text.value === text) this.select(Number(/^yaml: line (\d+)/.exec(error.message)?.[1] ?? 1) - 1);
      return null;
    }
  }

  select(line) {
    const lines = this.text.value.split('\n');
    const begin = lines.slice(0, line).join('\n').length + (line ? 1 : 0);
    this.text.focus();
    this.text.setSelectionRange(begin, begin + (lines[line] || '').length);
  }

  async run(dry) {
    if (this.running || this.check.disabled || this.text.readOnly) return;
    const replace = this.replacing.checked && !this.isNew;
    let edited = null;
    let made = null;
    // Not `disabled`: a button that is disabled loses the focus.
    this.busy(true);
    try {
      edited = await this.read();
      if (!edited || this.stopping.signal.aborted) return;
      fill(this.problem);
      made = this.isNew ? {intent: edited, kept: []} : intentOf(this.object, edited);
      const {intent, kept} = made;
      if (this.isNew) await this.refuseExisting(edited);
      const response = await (replace ? this.replace(edited, dry) : this.apply(intent, edited, dry));
      if (this.stopping.signal.aborted) return;
      if (dry) await this.showChanges(response, replace ? [] : kept, edited);
      else await this.stored(response, replace ? [] : kept);
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      this.failed(error);
      if (dry && !replace && isConflict(error)) await this.showForced(made.intent, edited, made.kept);
    } finally {
      this.busy(false);
    }
  }

  busy(on) {
    this.running = on;
    for (const each of [this.check, this.save]) each.setAttribute('aria-disabled', String(on));
    this.element.setAttribute('aria-busy', String(on));
  }

  /** Apply would change an object that has the name already. */
  async refuseExisting(edited) {
    let found = false;
    try {
      await json('GET', this.where(edited), {signal: this.stopping.signal});
      found = true;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code >= 500 || error.code === 401) throw error;
    }
    if (found) throw new ApiError(409, {message: `${edited.kind} ${edited.metadata.name} exists already`});
  }

  /** After conflicts: what would change with force. */
  async showForced(intent, edited, kept) {
    try {
      await this.showChanges(await this.apply(intent, edited, true, true), kept, edited, 'What would change with force');
    } catch (error) {
      if (!this.stopping.signal.aborted) fill(this.result, h('p', {class: 'problem'}, explain(error)));
    }
  }

  apply(intent, edited, dry, force = this.force.checked) {
    const query = {fieldManager: MANAGER, force: force ? 'true' : '', dryRun: dry ? 'All' : '', fieldValidation: 'Strict'};
    const where = this.isNew ? this.where(edited) : this.where;
    // With the uid an object that was deleted meanwhile is not created anew from the part that was edited.
    const data = this.isNew ? intent : {...intent, metadata: {...intent.metadata, uid: this.object.metadata.uid}};
    return json('PATCH', where, {query, data, type: APPLY, signal: this.stopping.signal});
  }

  replace(edited, dry) {
    const metadata = {...edited.metadata, resourceVersion: this.object.metadata.resourceVersion, uid: this.object.metadata.uid};
    const status = this.object.status === undefined ? {} : {status: this.object.status};
    const query = {fieldManager: MANAGER, dryRun: dry ? 'All' : '', fieldValidation: 'Strict'};
    return json('PUT', this.where, {query, data: {...edited, ...status, metadata}, signal: this.stopping.signal});
  }

  async showChanges(response, kept, edited, title = 'What would change') {
    const before = this.isNew ? '' : this.start;
    const after = await toYaml(editable(response), this.stopping.signal);
    if (this.stopping.signal.aborted) return;
    const changed = before !== after;
    const difference = changed ? diffElement(before, after, title) : null;
    // Not the difference itself, which may be long.
    const lines = (kind) => difference.querySelectorAll(`.${kind}`).length;
    announce(changed ? `${title}: ${lines('add')} lines added, ${lines('del')} removed` : 'Nothing would change');
    fill(
      this.result,
      h('h2', {}, changed ? title : 'Nothing would change'),
      difference,
      keptElement(kept),
      changed && !same(editable(response), edited) && !kept.length ? h('p', {class: 'note'}, 'The server adds to the edit: defaults, or what its admission plugins set.') : null,
    );
  }

  async stored(response, kept) {
    keepDraft(this.draft, null);
    this.applied(response);
    if (this.isNew) return;
    await this.load(response);
    if (this.stopping.signal.aborted) return;
    if (this.text.value === this.start) this.edited();
    this.tell(`${response.kind} ${response.metadata.name} is stored`);
    fill(this.result, h('p', {class: 'good', id: 'stored'}, `Stored as resourceVersion ${response.metadata.resourceVersion}.`), keptElement(kept));
  }

  failed(error) {
    if (isConflict(error) && !this.replacing.checked) {
      this.forcing.hidden = false;
      fill(this.problem, conflictsElement(error.status));
      return;
    }
    const causes = (error instanceof ApiError && error.status.details && error.status.details.causes) || [];
    fill(
      this.problem,
      h('p', {class: 'problem'}, explain(error), error instanceof ApiError ? '' : '. It is not known whether the server has received the request.'),
      causes.length > 1 ? h('ul', {}, causes.map((each) => h('li', {}, h('code', {}, each.field || ''), ` ${each.message}`))) : null,
    );
  }
}

/** Is it the same object, not another one of its name? */
function sameObject(one, other) {
  return one.metadata.uid === other.metadata.uid;
}

/** What stays although the user removed it. */
function keptElement(kept) {
  if (!kept.length) return null;
  return h(
    'div',
    {id: 'kept'},
    h('p', {class: 'busy'}, 'These fields stay: apply removes only what this page alone owns. “Replace the whole object” removes them.'),
    h('ul', {}, kept.map((each) => h('li', {}, h('code', {}, each.path), each.owners.length ? ` owned by ${each.owners.join(', ')}` : ''))),
  );
}
