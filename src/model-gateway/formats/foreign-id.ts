import { randomUUID } from 'node:crypto';

/** Creates an id with a prefix such as `msg_`. */
export function newId(prefix: string): string {
  return `${prefix}${randomUUID().replaceAll('-', '')}`;
}

/** Returns the current time in seconds since 1970, as OpenAI's formats use it. */
export function secondsNow(): number {
  return Math.floor(Date.now() / 1000);
}

/**
 * Returns the id of a tool call in the form that Anthropic accepts: letters, digits, `_` and `-`. Other providers create ids such as
 * `functions.look:0`. A call and its result still match, because both ids go through this function.
 */
export function toolUseId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, '_');
}
