import type { Scope } from '#platform/auth';
import type { SpooledFile } from '#platform/http';
import {
  INLINE_JSON_MAX,
  isJsonObject,
  JsonInputError,
  type Outline,
  parseJson,
  RawJson,
} from '#platform/json';
import type { JsonThreads } from '#platform/json-threads';

/** Number of bytes that are appended at once. */
const PIECE_BYTES = 1024 * 1024;

/** A text in the temporary file of `LargeJson`. */
class SpooledText {
  constructor(
    readonly at: number,
    readonly bytes: number,
  ) {}
}

/**
 * Parses the JSON texts of one import: small ones at once, and larger ones in threads. An import is read twice. The first
 * reading caches large values in a file, so that the second reading, which holds a lock, does not wait for a thread.
 */
export class LargeJson {
  private readonly cached = new Map<string, unknown>();
  private file: SpooledFile | undefined;

  /** @param body the body of the import. Closing it closes the file too. */
  constructor(
    private readonly threads: JsonThreads,
    private readonly scope: Scope,
    private readonly body: SpooledFile,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Parses like `parseJson`. A larger text is returned in the form of its outline: free-form values as `RawJson`.
   *
   * @param place of the text in the import, the same for both readings
   * @throws JsonInputError like `parseJson`, and the errors of `JsonThreads`
   */
  async parse(place: string, bytes: Buffer, outline: Outline): Promise<unknown> {
    if (bytes.length <= INLINE_JSON_MAX) return parseJson(bytes, outline);
    if (this.cached.has(place)) return this.restore(this.cached.get(place));
    try {
      const value = await this.threads.parse(this.scope, this.signal, bytes, outline);
      this.cached.set(place, await this.store(value));
      return value;
    } catch (error) {
      if (error instanceof JsonInputError) this.cached.set(place, error);
      throw error;
    }
  }

  private async store(value: unknown): Promise<unknown> {
    if (value instanceof RawJson) return this.append(Buffer.from(value.text));
    if (!isJsonObject(value)) return value;
    const members: [string, unknown][] = [];
    for (const [name, member] of Object.entries(value)) members.push([name, await this.store(member)]);
    return Object.fromEntries(members);
  }

  private async restore(value: unknown): Promise<unknown> {
    if (value instanceof JsonInputError) throw value;
    if (value instanceof SpooledText) {
      return new RawJson((await this.file!.slice(value.at, value.bytes)).toString());
    }
    if (!isJsonObject(value)) return value;
    const members: [string, unknown][] = [];
    for (const [name, member] of Object.entries(value)) members.push([name, await this.restore(member)]);
    return Object.fromEntries(members);
  }

  private async append(text: Buffer): Promise<SpooledText> {
    this.file ??= await this.body.createPart();
    const at = this.file.size;
    for (let done = 0; done < text.length; done += PIECE_BYTES) {
      await this.file.append(text.subarray(done, done + PIECE_BYTES));
    }
    return new SpooledText(at, text.length);
  }
}
