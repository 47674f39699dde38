// npm run openapi: writes the generated part of the clients from openapi.json: the types of every schema and operation, and
// the table of operations.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './lib/project.mjs';

const FOLDER = 'clients/typescript/src/api';
const NOTICE = '// Written by `npm run openapi`. Do not edit.\n';
/** POST operations without an idempotency key that only read, so that a client may repeat them. */
const READS = [
  'checkGate',
  'checkTraces',
  'countModelMessageTokens',
  'planApp',
  'queryExperimentTraceStats',
  'queryScoreStats',
  'querySpanStats',
  'queryTraceStats',
  'searchDatasets',
  'searchExperiments',
  'searchRegistry',
];
const JSON_TYPE = 'application/json';
const EVENTS = 'text/event-stream';
/** Longest type that is written where it is used instead of by its name. */
const INLINE = 60;
/** Longest comment on a member of a response. */
const LONGEST = 60;
/** An example of a name in a path, which the client encodes itself. */
const ENCODED_NAME = ', such as `name:support%20cases`';
/** Parameters that each list has. They are declared once. */
const PAGING = ['limit', 'offset', 'total', 'cursor'];

class Generator {
  constructor(document, version) {
    this.document = document;
    this.version = version;
    this.schemas = document.components.schemas;
    this.operations = operationsOf(document);
    this.bodies = this.schemasOfBodies();
    this.used = new Set();
  }

  /** Returns the generated files as texts, by path. */
  files() {
    const api = this.operations.map((operation) => this.method(operation)).join('\n');
    return {
      [`${FOLDER}/types.d.cts`]: `${NOTICE}import type { ApiPromise, Pages, Paging, RawBody, RequestOptions } from './calls.cjs';\n\n${this.types()}
/** Every operation of the service. Members of the path and the query are members of \`request\`; a body is its \`body\`. */
export interface Operations {
${api}
}\n`,
      [`${FOLDER}/operations.ts`]: `${NOTICE}
/** The version of this client, and of the service that it was made for. */
export const VERSION = '${this.version}';

/**
 * The operations by name: method, path, flags and the media type of a body that is not JSON. The flags are letters:
 * i: accepts an idempotency key; r: may be repeated without one; h: takes the header X-Service-Workspace-Id;
 * w: the body requires workspace_id; q: the query takes workspace_id; c, b, o: is a list, continued by a cursor in the query,
 * by one in the body, or by an offset; t: counts the items unless told not to; n: the response is not JSON; s: the response
 * can be a stream of events.
 */
export const operations: Readonly<Record<string, string>> = {
${this.operations.map((operation) => `  ${operation.operationId}: '${this.entry(operation)}',`).join('\n')}
};\n`,
    };
  }

  /** Writes the schemas that have a name of their own in the types, those that they refer to included. */
  types() {
    const done = new Map();
    for (let size = -1; size !== done.size;) {
      size = done.size;
      for (const name of this.used) if (!done.has(name)) done.set(name, this.declaration(name));
    }
    return [...done.values()].join('');
  }

  declaration(name) {
    const schema = this.schemas[name];
    return `${doc(schema.description, '')}export type ${name} = ${this.type(schema, this.bodies.has(name))};\n`;
  }

  /** Names the schemas of request bodies. In these, `workspace_id` may be left out, and read-only members are not declared. */
  schemasOfBodies() {
    const named = ({ $ref, oneOf, anyOf }) =>
      $ref
        ? [$ref.split('/').pop(), ...named(this.resolve({ $ref }))]
        : (oneOf ?? anyOf ?? []).flatMap((each) => named(each));
    return new Set(
      this.operations.flatMap(({ body }) => (body?.[JSON_TYPE] ? named(body[JSON_TYPE].schema) : [])),
    );
  }

  resolve(part) {
    if (!part?.$ref) return part;
    return this.resolve(
      part.$ref
        .slice(2)
        .split('/')
        .reduce((parent, key) => parent[key], this.document),
    );
  }

  /** Returns the TypeScript type of a schema. */
  type(schema, isBody = false) {
    if (schema.$ref) return this.reference(schema.$ref.split('/').pop());
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
    if (schema.allOf) return schema.allOf.map((each) => this.type(each)).join(' & ');
    const alternatives = schema.oneOf ?? schema.anyOf;
    if (alternatives) return union(alternatives.map((each) => this.type(each)));
    if (Array.isArray(schema.type))
      return union(schema.type.map((type) => this.type({ ...schema, type }, isBody)));
    if (schema.format === 'binary') return 'RawBody';
    if (schema.type === 'array') return this.array(schema);
    if (schema.type === 'object') return this.object(schema, isBody);
    return (
      { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' }[
        schema.type
      ] ?? 'unknown'
    );
  }

  reference(name) {
    if (name === 'JsonValue') return 'unknown';
    const schema = this.schemas[name];
    const isRecursive = JSON.stringify(schema).includes(`"#/components/schemas/${name}"`);
    if (!schema.properties && !isRecursive) {
      const before = new Set(this.used);
      const text = this.type(schema, this.bodies.has(name));
      if (text.length <= INLINE) return text;
      this.used = before;
    }
    this.used.add(name);
    return name;
  }

  array({ items = {} }) {
    const item = this.type(items);
    return /^[\w.]+$/.test(item) ? `${item}[]` : `(${item})[]`;
  }

  object({ properties = {}, required = [], additionalProperties }, isBody) {
    const members = Object.entries(properties)
      .filter(([, member]) => !(isBody && member.readOnly))
      .map(([name, member]) => {
        const optional = !required.includes(name) || (isBody && name === 'workspace_id') ? '?' : '';
        return `${doc(member.description, '  ', isBody ? Infinity : LONGEST)}  ${key(name)}${optional}: ${this.type(member)};\n`;
      });
    if (members.length === 0 && typeof additionalProperties === 'object')
      return `{ [key: string]: ${this.type(additionalProperties)} }`;
    if (additionalProperties === true || members.length === 0) members.push('  [key: string]: unknown;\n');
    return members.length === 1 && !members[0].includes('/**')
      ? `{ ${members[0].trim()} }`
      : `{\n${members.join('')}}`;
  }

  method(operation) {
    const { operationId, summary, parameters, body, isBodyRequired } = operation;
    const accepted = parameters.filter((parameter) => parameter.in !== 'header');
    const isPaged = operation.list === 'c';
    const members = accepted
      .filter(({ name }) => !isPaged || !PAGING.includes(name))
      .map((parameter) => {
        const optional = parameter.required ? '' : '?';
        return `${doc(parameter.description?.replace(ENCODED_NAME, ''), '    ')}    ${key(parameter.name)}${optional}: ${this.parameterType(parameter)};\n`;
      });
    if (body) members.push(`    body${isBodyRequired ? '' : '?'}: ${this.bodyType(body)};\n`);
    const isOptional = !isBodyRequired && !accepted.some((parameter) => parameter.required);
    const own = members.length > 0 || !isPaged ? `{\n${members.join('')}  }` : '';
    const type = [isPaged && 'Paging', own].filter(Boolean).join(' & ');
    const request = `request${isOptional ? '?' : ''}: ${members.length > 0 || isPaged ? type : '{}'}, `;
    return `${doc(summary && `${summary}.`, '  ')}  ${operationId}(${request}options?: RequestOptions): ${this.result(operation)};`;
  }

  parameterType({ in: place, name, schema }) {
    if (place === 'path') return name.startsWith('version') ? 'string | number' : 'string';
    if (schema.format === 'date-time') return 'string | Date';
    return this.type(schema).replace(/ \| null$/, '');
  }

  bodyType(body) {
    const json = body[JSON_TYPE] && this.type(body[JSON_TYPE].schema, true);
    const isRaw = Object.keys(body).some((type) => type !== JSON_TYPE);
    return union([json, isRaw && 'RawBody'].filter(Boolean));
  }

  result(operation) {
    if (operation.isRaw) return 'ApiPromise<Response>';
    const schemas = operation.results.filter(Boolean);
    const page = this.resolve(schemas[0])?.properties;
    const item = operation.list && this.type(this.resolve(page.items).items);
    if (operation.list === 'c' && Object.keys(page).length === 2) return `Pages<${item}>`;
    const types = schemas.map((schema) => this.type(schema));
    if (item) return `Pages<${item}, ${union(types)}>`;
    if (operation.mayBeEmpty && types.length > 0) types.push('undefined');
    return `ApiPromise<${types.length > 0 ? union(types) : 'void'}>`;
  }

  /** Returns what the client has to know about an operation. */
  entry(operation) {
    const { operationId, method, path: route, parameters, body } = operation;
    const has = (name) => parameters.some((parameter) => parameter.name === name);
    const hasQuery = (name) => parameters.some((each) => each.in === 'query' && each.name === name);
    const json = body?.[JSON_TYPE] && this.resolve(body[JSON_TYPE].schema);
    const [first] = (json?.oneOf ?? []).map((each) => this.resolve(each));
    const isWrite = method !== 'get' && method !== 'head';
    const flags = [
      has('Idempotency-Key') && 'i',
      READS.includes(operationId) && 'r',
      has('X-Service-Workspace-Id') && 'h',
      (first ?? json)?.required?.includes('workspace_id') && 'w',
      isWrite && !has('X-Service-Workspace-Id') && hasQuery('workspace_id') && 'q',
      operation.list,
      has('total') && 't',
      operation.isRaw && 'n',
      operation.mayStream && 's',
    ];
    const raw = Object.keys(body ?? {}).filter(
      (type) => type !== JSON_TYPE && type !== 'multipart/form-data',
    );
    const type = raw[0] === '*/*' ? 'application/octet-stream' : raw[0];
    const target = route.replace('{path}', '{+path}');
    return [method.toUpperCase(), target, flags.filter(Boolean).join('') || '-', type]
      .filter(Boolean)
      .join(' ');
  }
}

/** Lists the operations in the order of their names, with everything that references stand for. */
function operationsOf(document) {
  const resolve = (part) =>
    part?.$ref
      ? resolve(
          part.$ref
            .slice(2)
            .split('/')
            .reduce((parent, each) => parent[each], document),
        )
      : part;
  return Object.entries(document.paths).flatMap(([route, { parameters: shared = [], ...methods }]) =>
    Object.entries(methods).map(([method, operation]) => {
      const parameters = [...shared, ...(operation.parameters ?? [])].map(resolve);
      const contents = Object.entries(operation.responses)
        .filter(([status]) => status < 300)
        .map(([, response]) => resolve(response).content ?? {});
      const types = contents.flatMap((content) => Object.keys(content));
      const results = contents.map((content) => content[JSON_TYPE]?.schema);
      const page = resolve(results.find(Boolean))?.properties;
      const body = resolve(operation.requestBody);
      const has = (name) => parameters.some((parameter) => parameter.name === name);
      const hasBodyCursor = Boolean(resolve(body?.content[JSON_TYPE]?.schema)?.properties?.cursor);
      return {
        ...operation,
        method,
        path: route,
        parameters,
        body: body?.content,
        isBodyRequired: body?.required === true,
        results,
        isRaw: types.length > 0 && !types.includes(JSON_TYPE),
        mayStream: types.includes(EVENTS),
        mayBeEmpty: contents.some((content) => Object.keys(content).length === 0),
        list:
          page?.items && page.page
            ? (has('cursor') && 'c') || (hasBodyCursor && 'b') || (has('offset') && 'o')
            : undefined,
      };
    }),
  );
}

/** Joins types without repeating simple ones. */
function union(types) {
  const parts = types.flatMap((type) => (/[({]/.test(type) ? [type] : type.split(' | ')));
  return [...new Set(parts)].join(' | ');
}

const key = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name}'`);

/**
 * Returns the first sentence of a description as a comment, if it is short enough. With all of them, the package would be too
 * large.
 */
function doc(text, indent, longest = Infinity) {
  if (!text) return '';
  const plain = text.replace(/\s+/g, ' ').replaceAll('*/', '*\\/').trim();
  const [first] = /^.*?[.!?](?= [A-Z`(]|$)/.exec(plain) ?? [plain];
  return first.length > longest ? '' : `${indent}/** ${first} */\n`;
}

/** @param {string} root where to write, for tests */
function write(root) {
  const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  const document = JSON.parse(readFileSync(path.join(ROOT, 'openapi.json'), 'utf8'));
  for (const [file, text] of Object.entries(new Generator(document, version).files())) {
    mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }
}

write(process.argv[2] ?? ROOT);
