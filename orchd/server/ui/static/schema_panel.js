// The fields of a kind with their types, descriptions and validation rules. A custom resource definition shows those that it defines.

import {announce} from './announce.js';
import {explain, json, path} from './api.js';
import {fill, h} from './dom.js';

/** The fields of this many levels are listed at once, those below when they are opened. */
const OPEN_LEVELS = 2;
/** Lists and maps within each other that are looked into. A published schema may contain itself. */
const MOST_NESTED = 10;
const REFERENCE = '#/components/schemas/';

/** `object` is missing for new objects. */
export function schemaPanel(resource, object = null) {
  const stopping = new AbortController();
  const element = h('div', {class: 'panelpart schema'}, h('p', {class: 'note'}, 'Loading'));
  const show = async () => {
    try {
      const versions = isDefinition(object) ? definedVersions(object) : [await publishedVersion(resource, stopping.signal)];
      if (stopping.signal.aborted) return;
      fill(element, versions.map(({title, schema, named}) => [h('h2', {}, title), place(schema, named, 0)]));
      announce('The schema is shown');
    } catch (error) {
      if (!stopping.signal.aborted) fill(element, h('p', {class: 'problem', role: 'alert'}, explain(error)));
    }
  };
  show();
  return {element, stop: () => stopping.abort()};
}

function isDefinition(object) {
  return object && object.kind === 'CustomResourceDefinition' && object.apiVersion.startsWith('apiextensions.');
}

function definedVersions({spec}) {
  return spec.versions.map((each) => ({title: `${spec.group}/${each.name} ${spec.names.kind}`, schema: (each.schema && each.schema.openAPIV3Schema) || {}, named: {}}));
}

async function publishedVersion(resource, signal) {
  const version = resource.group ? ['apis', resource.group, resource.version] : ['api', resource.version];
  const document = await json('GET', path('openapi', 'v3', ...version), {signal});
  const named = (document.components && document.components.schemas) || {};
  const schema = Object.values(named).find((each) => kindsOf(each).some((kind) => kind.group === resource.group && kind.version === resource.version && kind.kind === resource.kind));
  const title = `${version.slice(1).join('/')} ${resource.kind}`;
  if (!schema) throw new Error(`the server publishes no schema of ${title}`);
  return {title, schema, named};
}

function kindsOf(schema) {
  return extension(schema, '-group-version-kind') || [];
}

/** The value of the keyword of a schema that begins with `x-` and the product's name. */
function extension(schema, name) {
  const key = Object.keys(schema).find((each) => each.startsWith('x-') && each.endsWith(name));
  return key && schema[key];
}

/** A schema with the one that it refers to. Its own keywords take precedence. */
function resolve(schema, named) {
  const reference = schema.$ref || (schema.allOf && schema.allOf.length === 1 && schema.allOf[0].$ref);
  return reference ? {...named[reference.slice(REFERENCE.length)], ...schema} : schema;
}

/** The schema of a field or, inside lists and maps, of their items and values; with the type as a text and the rules of all of these. */
function inside(schema, named) {
  let at = resolve(schema, named);
  let type = '';
  const rules = rulesOf(at, '');
  for (let nested = 0, below = contentOf(at); below && nested < MOST_NESTED; nested++, below = contentOf(at)) {
    const isList = at.type === 'array';
    type += isList ? 'list of ' : 'map of ';
    at = resolve(below, named);
    rules.push(...rulesOf(at, isList ? 'each item: ' : 'each value: '));
  }
  const own = extension(at, '-int-or-string') ? 'integer or string' : at.type || 'any';
  return {schema: at, type: type + own, rules};
}

function contentOf(schema) {
  const below = schema.type === 'array' ? schema.items : !schema.properties && schema.additionalProperties;
  return below && typeof below === 'object' ? below : null;
}

/** The rules of a schema; `subject` says which values they are about, if not the field's own. */
function rulesOf(schema, subject) {
  const rules = extension(schema, '-validations');
  return Array.isArray(rules) ? rules.map((rule) => ({rule, subject})) : [];
}

/** The rules of a place and the list of its fields. */
function place(schema, named, level) {
  const found = inside(schema, named);
  return [ruleList(found.rules), fieldList(found.schema, named, level)];
}

function ruleList(rules) {
  if (!rules.length) return null;
  return h('ul', {class: 'rules', 'aria-label': 'Rules'}, rules.map(({rule, subject}) => h('li', {}, subject, h('code', {}, rule.rule || ''), said(rule))));
}

function said(rule) {
  const text = rule.message || rule.messageExpression;
  return text ? h('span', {class: 'note'}, text) : null;
}

function fieldList(schema, named, level) {
  const fields = Object.entries(schema.properties || {});
  if (!fields.length) return null;
  const required = new Set(schema.required || []);
  return h('ul', {class: 'fields'}, fields.map(([name, field]) => h('li', {}, fieldElement(name, field, required.has(name), named, level))));
}

function fieldElement(name, field, required, named, level) {
  const found = inside(field, named);
  const description = field.description || found.schema.description;
  const own = [h('code', {class: 'field'}, name), h('span', {class: 'note'}, ` ${found.type}${required ? ', required' : ''}`), description ? h('p', {}, description) : null, ruleList(found.rules)];
  if (!found.schema.properties) return own;
  const below = h('div', {});
  // A schema may contain itself: its fields are made when they are looked at.
  const open = () => below.childElementCount || fill(below, fieldList(found.schema, named, level + 1));
  const isOpen = level + 1 < OPEN_LEVELS;
  if (isOpen) open();
  const details = h('details', {open: isOpen, on: {toggle: () => details.open && open()}}, h('summary', {}, `fields of ${name}`), below);
  return [...own, details];
}
