import type { Operations } from '../api/types.cjs';

/** What resources need of a client. */
export interface Context {
  readonly api: Operations;
  readonly workspaceId: string | null;
}

/** The request of an operation: members of its path and query, and its body. */
export type RequestOf<K extends keyof Operations> = NonNullable<Parameters<Operations[K]>[0]>;
/** The body of an operation, without what is sent as it is. */
export type BodyOf<K extends keyof Operations> = RequestOf<K> extends { body: infer B } ? JsonOf<B> : never;
type JsonOf<B> = B extends
  | string
  | ArrayBuffer
  | Blob
  | FormData
  | ReadableStream
  | AsyncIterable<unknown>
  | ArrayBufferView
  ? never
  : B;
/** The filters, the order and the page of a list. */
export type ListOf<K extends keyof Operations, Fixed extends string = never> = Omit<RequestOf<K>, Fixed>;

/** One part of the product in its own words, made of the operations of `client.api`. */
export abstract class Resource {
  constructor(private readonly context: Context) {}

  protected get api(): Operations {
    return this.context.api;
  }

  /** Narrows a list of an organization to the client's workspace. */
  protected get workspace(): { workspace_id?: string } {
    const { workspaceId } = this.context;
    return workspaceId === null ? {} : { workspace_id: workspaceId };
  }
}

const ID = /^[a-z]+_[0-9a-hjkmnp-tv-z]{26}$/;

/** Tells whether a text has the form of an id, such as `ds_01jd0000000000000000000001`. */
export const isId = (text: string): boolean => ID.test(text);

/** Returns what names a resource in a path: its id, or `name:` and its name. */
export const idOrName = (text: string): string =>
  isId(text) || text.startsWith('name:') ? text : `name:${text}`;

/** Splits a list into parts of at most `size`. */
export function chunksOf<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) =>
    list.slice(i * size, (i + 1) * size),
  );
}
