import { ConnectionError } from './errors.js';

/** A server-sent event. `data` is parsed if it is JSON, and text otherwise. */
export interface ServerSentEvent<T = unknown> {
  event: string;
  data: T;
  id?: string;
}

/** Parses the body of a response as server-sent events. Ends at the end of the body or at the event `[DONE]`. */
export async function* events<T = unknown>(response: Response): AsyncGenerator<ServerSentEvent<T>> {
  let event = 'message';
  let id: string | undefined;
  let data: string[] = [];
  for await (const line of textLines(response)) {
    if (line === '') {
      const text = data.join('\n');
      if (text === '[DONE]') return;
      if (data.length > 0) yield { event, data: parsed<T>(text), ...(id !== undefined && { id }) };
      [event, data] = ['message', []];
      continue;
    }
    const [, field, value = ''] = /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? [];
    if (field === 'event') event = value;
    if (field === 'data') data.push(value);
    if (field === 'id') id = value;
  }
}

/** Parses the body of a response as JSON Lines, one value at a time. */
export async function* lines<T = unknown>(response: Response): AsyncGenerator<T> {
  for await (const line of textLines(response)) if (line !== '') yield JSON.parse(line) as T;
}

/** Yields the lines of a response's body without their ends. Cancels the body if the caller stops early. */
export async function* textLines(response: Response): AsyncGenerator<string> {
  let line: string[] = []; // the pieces of an unfinished line
  let carriageReturn = ''; // at the end of a chunk, it may be the first half of CRLF
  for await (const chunk of textChunks(response)) {
    const text = carriageReturn + chunk;
    carriageReturn = text.endsWith('\r') ? '\r' : '';
    const [first = '', ...others] = text.slice(0, text.length - carriageReturn.length).split(/\r\n|\n|\r/);
    line.push(first);
    for (const next of others) {
      yield line.join('');
      line = [next];
    }
  }
  const last = line.join('');
  if (last !== '') yield last;
}

async function* textChunks(response: Response): AsyncGenerator<string> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isDone = done;
      if (done) break;
      yield decoder.decode(value, { stream: true });
    }
    yield decoder.decode();
  } catch (error) {
    isDone = true;
    throw error instanceof TypeError
      ? new ConnectionError('The response ended early', { cause: error })
      : error;
  } finally {
    if (!isDone) await reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}

function parsed<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    return text as T;
  }
}
