import type { ApiPromise, RawBody, RequestOptions } from '../api/calls.cjs';
import { operations } from '../api/operations.js';
import type { Operations } from '../api/types.cjs';
import { Call, PageList } from './calls.js';
import type { HttpRequest, HttpResponse, Transport } from './http.js';

/** Time limit of an attempt, in milliseconds. */
const TIMEOUT_MS = 60_000;
/** The same for models, which take their time, and for bodies that are not JSON, which can be large. */
const LONG_TIMEOUT_MS = 600_000;

type Arguments = Record<string, unknown>;

/** An operation, read from the generated table. */
interface Operation {
  method: string;
  path: string;
  /** See `operations`. */
  flags: string;
  /** Media type of a body that is not JSON. */
  rawType: string | undefined;
}

/** Makes the object that has a method for every operation. */
export function createApi(transport: Transport, workspaceId: string | null): Operations {
  const methods = Object.entries(operations).map(([name, entry]) => {
    const [method = '', path = '', flags = '', rawType] = entry.split(' ');
    return [name, methodOf({ method, path, flags, rawType }, transport, workspaceId)];
  });
  return Object.fromEntries(methods) as Operations;
}

function methodOf(operation: Operation, transport: Transport, workspaceId: string | null) {
  const { flags } = operation;
  const kind = { isOffset: flags.includes('o'), isBody: flags.includes('b'), hasTotal: flags.includes('t') };
  const isList = kind.isOffset || kind.isBody || flags.includes('c');
  return (request: Arguments = {}, options: RequestOptions = {}): ApiPromise<unknown> => {
    const send = async (given: Arguments): Promise<HttpResponse> =>
      transport.send(buildRequest(operation, given, options, options.workspaceId ?? workspaceId), options);
    return isList ? new PageList(send, request, kind) : new Call(() => send(request)).start();
  };
}

function buildRequest(
  { method, path, flags, rawType }: Operation,
  request: Arguments,
  options: RequestOptions,
  workspaceId: string | null,
): HttpRequest {
  const { body, ...members } = request;
  const has = (flag: string): boolean => flags.includes(flag);
  const isJson = body !== undefined && isJsonBody(body, rawType);
  const isForm = body instanceof FormData;
  if (workspaceId && has('q') && !isJson && !isForm) members['workspace_id'] ??= workspaceId;
  const headers: Record<string, string> = {};
  if (workspaceId && has('h')) headers['x-service-workspace-id'] = workspaceId;
  if (has('i')) headers['idempotency-key'] = options.idempotencyKey ?? crypto.randomUUID();
  if (options.ifMatch) headers['if-match'] = options.ifMatch;
  if (options.ifNoneMatch) headers['if-none-match'] = options.ifNoneMatch;
  const type = isJson ? 'application/json' : (options.contentType ?? defaultType(body, rawType));
  if (type) headers['content-type'] = type;
  if (has('n') || has('s')) headers['accept'] = '*/*';
  const wait = Number(members['wait_s'] ?? 0) * 1000;
  return {
    method,
    target: fillPath(path, members) + queryOf(members),
    headers,
    body: isJson
      ? jsonOf(body, has('w') ? workspaceId : null)
      : isForm && has('q')
        ? formOf(body, workspaceId)
        : (body as RawBody | undefined),
    isRepeatable: method === 'GET' || method === 'HEAD' || has('i') || has('r'),
    isRaw: has('n'),
    mayStream: has('n') || has('s'),
    timeoutMs: has('s') || (body !== undefined && !isJson) ? LONG_TIMEOUT_MS : TIMEOUT_MS + wait,
  };
}

/** Tells whether a body is sent as JSON, and not as it is. */
function isJsonBody(body: unknown, rawType: string | undefined): boolean {
  if (body instanceof FormData) return false;
  if (rawType === undefined) return true;
  const isRaw =
    typeof body === 'string' ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body) ||
    body instanceof Blob ||
    body instanceof ReadableStream ||
    (typeof body === 'object' && body !== null && Symbol.asyncIterator in body);
  return !isRaw;
}

/** Returns the media type of a raw body. A form brings its own, with its boundary. */
function defaultType(body: unknown, rawType: string | undefined): string | undefined {
  if (body === undefined || body instanceof FormData) return undefined;
  return body instanceof Blob && body.type ? body.type : rawType;
}

function jsonOf(body: unknown, workspaceId: string | null): string {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  return JSON.stringify(isObject && workspaceId ? { workspace_id: workspaceId, ...body } : body);
}

/** Adds the workspace to a form, before its file. */
function formOf(form: FormData, workspaceId: string | null): FormData {
  if (!workspaceId || form.has('workspace_id')) return form;
  const copy = new FormData();
  copy.set('workspace_id', workspaceId);
  for (const [name, value] of form) copy.append(name, value);
  return copy;
}

/** Puts the members that the path names into it, and removes them from `members`. */
function fillPath(path: string, members: Arguments): string {
  return path.replace(/\{(\+?)(\w+)\}/g, (_, plus: string, name: string) => {
    const value = members[name];
    delete members[name];
    const text = typeof value === 'number' ? String(value) : value;
    const segments = typeof text === 'string' ? (plus ? text.split('/') : [text]) : [];
    // anything else would name another path, and so another operation
    if (!text || segments.length === 0 || segments.some((each) => each === '.' || each === '..'))
      throw new TypeError(`${name} must be the id or name that the path needs, not ${JSON.stringify(value)}`);
    return segments.map(encodeURIComponent).join('/');
  });
}

function queryOf(members: Arguments): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) {
    const values: unknown[] = Array.isArray(value) ? value : [value];
    for (const each of values) if (each !== undefined && each !== null) query.append(name, queryValue(each));
  }
  const text = query.toString();
  return text && `?${text}`;
}

/** Writes a date as RFC 3339, and an object as JSON. */
function queryValue(value: unknown): string {
  if (typeof value === 'string') return value;
  return value instanceof Date ? value.toISOString() : JSON.stringify(value);
}
