/** An answer with a status or headers of its own; a handler that returns a view alone answers its default status. */
export class Reply {
  constructor(
    readonly status: number,
    readonly body: unknown,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}
}

/** A strong ETag of a version or generation: `"4"`. */
export const etagOf = (version: number): string => `"${version}"`;

/** 201 with the resource, its address (an absolute path) and, where it has one, its ETag. */
export const created = (location: string, view: unknown, version?: number): Reply =>
  new Reply(201, view, { Location: location, ...(version === undefined ? {} : { ETag: etagOf(version) }) });

/** 200 with a resource that has a version or generation. */
export const versioned = (view: unknown, version: number): Reply =>
  new Reply(200, view, { ETag: etagOf(version) });
