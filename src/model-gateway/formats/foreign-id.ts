import { randomUUID } from 'node:crypto';

/** Makes an id that starts with the given prefix, such as `msg_`. */
export function newId(prefix: string): string {
  return `${prefix}${randomUUID().replaceAll('-', '')}`;
}

/** Returns the present in seconds since 1970, as OpenAI's formats have it. */
export function secondsNow(): number {
  return Math.floor(Date.now() / 1000);
}

/**
 * Returns the id of a tool call as Anthropic accepts it: letters, digits, `_` and `-`. Other providers make ids such as
 * `functions.look:0`. A call and its result stay together, because both go through this function.
 */
export function toolUseId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, '_');
}
