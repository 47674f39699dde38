export class JsonInputError extends Error {
  constructor(
    readonly pointer: string,
    readonly detail: string,
  ) {
    super(detail);
  }
}

export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    throw new JsonInputError('', 'The body is not JSON.');
  }
}

export class RawJson {
  constructor(readonly text: string) {}
  parse(): unknown {
    return JSON.parse(this.text) as unknown;
  }
  toJSON(): unknown {
    return this.parse();
  }
}

export const toJsonText = (value: unknown): string => JSON.stringify(value) ?? 'null';
