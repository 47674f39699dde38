import { isJsonObject } from '#platform/json';

/** The members whose values are data of the server, in which null is a value. */
const DATA: ReadonlySet<string> = new Set([
  'structuredContent',
  '_meta',
  'inputSchema',
  'outputSchema',
  'arguments',
  'data',
]);

/** The members of a result that are empty rather than absent if they are null. Servers in Go send an empty list as null. */
const EMPTY: Readonly<Record<string, () => unknown>> = {
  capabilities: () => ({}),
  content: () => [],
  tools: () => [],
  serverInfo: () => ({ name: '', version: '' }),
};

/**
 * Removes the optional members that are null from the messages in a response, because many servers send null for members
 * that they do not set, and the SDK rejects it. Bodies without null pass unchanged.
 *
 * A message of an event stream that has several data lines passes unchanged, because servers send each message in one line.
 */
export const withoutNullMembers = (isEventStream: boolean): TransformStream<Uint8Array, Uint8Array> =>
  isEventStream ? eventFilter() : bodyFilter();

function bodyFilter(): TransformStream<Uint8Array, Uint8Array> {
  const chunks: Uint8Array[] = [];
  return new TransformStream({
    transform: (chunk) => void chunks.push(chunk),
    flush: (controller) => {
      const body = Buffer.concat(chunks);
      controller.enqueue(body.includes('null') ? Buffer.from(rewritten(body.toString())) : body);
    },
  });
}

/** Holds back the last line until it is complete. */
function eventFilter(): TransformStream<Uint8Array, Uint8Array> {
  let pending: Uint8Array[] = [];
  return new TransformStream({
    transform: (chunk, controller) => {
      const end = Math.max(chunk.lastIndexOf(LINE_FEED), chunk.lastIndexOf(CARRIAGE_RETURN)) + 1;
      if (end > 0) {
        const lines = Buffer.concat([...pending, chunk.subarray(0, end)]);
        controller.enqueue(lines.includes('null') ? Buffer.from(rewrittenLines(lines.toString())) : lines);
        pending = [];
      }
      if (end < chunk.length) pending.push(chunk.subarray(end));
    },
    flush: (controller) => controller.enqueue(Buffer.concat(pending)),
  });
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** A data line of an event stream. A byte order mark may precede the first line. */
const DATA_LINE = /(?<=^\uFEFF?|[\r\n])(data: ?)([^\r\n]*)/g;

const rewrittenLines = (lines: string): string =>
  lines.replace(DATA_LINE, (_, field: string, json: string) => field + rewritten(json));

function rewritten(json: string): string {
  let body: unknown;
  try {
    body = JSON.parse(json);
  } catch {
    return json; // the SDK reports it
  }
  for (const message of Array.isArray(body) ? body : [body]) normalize(message);
  return JSON.stringify(body);
}

function normalize(message: unknown): void {
  if (!isJsonObject(message)) return;
  const { id, result } = message;
  if (isJsonObject(result)) {
    for (const [name, empty] of Object.entries(EMPTY)) if (result[name] === null) result[name] = empty();
  }
  dropNulls(message);
  // an error without its id would not be recognized as the response
  if (id === null) message['id'] = null;
}

function dropNulls(value: unknown): void {
  if (Array.isArray(value)) value.forEach(dropNulls);
  else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      if (member === null) delete value[name];
      else if (!DATA.has(name)) dropNulls(member);
    }
  }
}
