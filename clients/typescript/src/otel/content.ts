/** Longest recorded input or output, in characters. The rest is left out. */
export const CONTENT_MAX = 256 * 1024;

const DEPTH_MAX = 20;

/** Returns the attributes of an input or output: text as it is, any other value as JSON. Never throws. */
export function contentAttributes(member: 'input' | 'output', value: unknown): Record<string, string> {
  if (value === undefined) return {};
  const isText = typeof value === 'string';
  return {
    [`${member}.value`]: isText ? cut(value, CONTENT_MAX) : toJsonText(value),
    [`${member}.mime_type`]: isText ? 'text/plain' : 'application/json',
  };
}

/**
 * Returns any value as JSON of about {@link CONTENT_MAX} characters at most. Members that JSON cannot represent become texts
 * such as `[function fetch]`. Never throws.
 */
export function toJsonText(value: unknown): string {
  try {
    return JSON.stringify(new Copy().of(value)) ?? 'null';
  } catch (error) {
    return JSON.stringify(`[not readable: ${String(error)}]`);
  }
}

/** Copies a value into plain JSON values, until the copy has the maximum size. */
class Copy {
  private remaining = CONTENT_MAX;
  private readonly ancestors = new Set<object>();

  of(value: unknown): unknown {
    this.remaining -= 8;
    switch (typeof value) {
      case 'string':
        return this.text(value);
      case 'number':
        return Number.isFinite(value) ? value : String(value);
      case 'boolean':
      case 'undefined':
        return value;
      case 'function':
        return `[function ${value.name}]`;
      case 'object':
        return value === null ? null : this.object(value);
      default:
        return String(value);
    }
  }

  private text(value: string): string {
    const text = cut(value, Math.max(this.remaining, 0));
    this.remaining -= text.length;
    return text;
  }

  private object(value: object): unknown {
    if (this.ancestors.has(value)) return '[circular]';
    if (this.ancestors.size >= DEPTH_MAX) return '[too deep]';
    this.ancestors.add(value);
    try {
      return this.members(value);
    } catch (error) {
      return `[not readable: ${String(error)}]`;
    } finally {
      this.ancestors.delete(value);
    }
  }

  private members(value: object): unknown {
    if (value instanceof Error) return this.of(`${value.name}: ${value.message}`);
    if ('toJSON' in value && typeof value.toJSON === 'function')
      return this.of((value.toJSON as () => unknown)());
    if (ArrayBuffer.isView(value)) return `[${nameOf(value)} of ${value.byteLength} bytes]`;
    if (Symbol.asyncIterator in value) return `[${nameOf(value)}]`; // reading a stream would consume it
    if (value instanceof Map) return this.record(value.entries());
    if (Array.isArray(value) || value instanceof Set) return this.list(value);
    const names = Object.keys(value);
    if (names.length === 0 && nameOf(value) !== 'Object') return `[${nameOf(value)}]`;
    return this.record(names.map((name) => [name, (value as Record<string, unknown>)[name]]));
  }

  private list(values: Iterable<unknown>): unknown[] {
    const copy: unknown[] = [];
    for (const value of values) {
      if (this.remaining <= 0) {
        copy.push('…');
        break;
      }
      copy.push(this.of(value) ?? null);
    }
    return copy;
  }

  private record(entries: Iterable<[unknown, unknown]>): Record<string, unknown> {
    const copy = Object.create(null) as Record<string, unknown>; // a member may be named __proto__
    for (const [name, value] of entries) {
      if (this.remaining <= 0) {
        copy['…'] = '…';
        break;
      }
      copy[this.text(String(name))] = this.of(value);
    }
    return copy;
  }
}

const nameOf = (value: object): string => value.constructor?.name ?? 'Object';

function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, max).replace(/[\uD800-\uDBFF]$/, '')}… (${text.length - max} more characters)`;
}
