import type { Answer, ApiPromise, Page, Pages } from '../api/calls.cjs';
import type { HttpResponse } from './http.js';

/** Items on a page when a list is iterated without a `limit`. */
const PAGE_SIZE = 200;
const MAX_PAGE_SIZE = 500;

/** A call that sends its request when it is made, or, if `send` is given later, when its result is first asked for. */
export class Call<T> implements ApiPromise<T> {
  readonly [Symbol.toStringTag] = 'ApiPromise';
  private sent: Promise<HttpResponse> | null = null;
  private answered: Promise<Answer<T>> | null = null;

  constructor(private readonly send: () => Promise<HttpResponse>) {}

  /** Sends the request now. */
  start(): this {
    void this.received();
    return this;
  }

  withResponse(): Promise<Answer<T>> {
    this.answered ??= this.received().then(readAnswer<T>);
    return this.answered;
  }

  async asResponse(): Promise<Response> {
    const { response, text } = await this.received();
    if (text === null) return response;
    const { status, statusText, headers } = response;
    return new Response(text, { status, statusText, headers });
  }

  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.withResponse()
      .then(({ data }) => data)
      .then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(null, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<T> {
    return this.then().finally(onFinally);
  }

  private received(): Promise<HttpResponse> {
    this.sent ??= this.send();
    return this.sent;
  }
}

function readAnswer<T>(received: HttpResponse): Answer<T> {
  const { response } = received;
  const requestId = response.headers.get('x-request-id');
  return { data: readBody(received) as T, response, headers: response.headers, requestId };
}

/** Returns parsed JSON, undefined for an empty response, and else the response, whose body is left unread. */
function readBody({ response, text, isRaw }: HttpResponse): unknown {
  if (text !== null) return text === '' ? undefined : (JSON.parse(text) as unknown);
  const isEmpty = response.status === 204 || response.headers.get('content-length') === '0';
  return isEmpty && !isRaw ? undefined : response;
}

type PageRequest = Record<string, unknown>;

/** How a list continues after a page: with a cursor or an offset, in the query or in the body. */
export interface ListKind {
  isOffset: boolean;
  isBody: boolean;
  /** Whether `total: false` keeps the service from counting. */
  hasTotal: boolean;
}

/** A list, whose pages are requested when they are needed. */
export class PageList<T> extends Call<Page<T>> implements Pages<T> {
  constructor(
    private readonly fetchPage: (request: PageRequest) => Promise<HttpResponse>,
    private readonly request: PageRequest,
    private readonly kind: ListKind,
  ) {
    super(() => fetchPage(request));
  }

  async take(count: number): Promise<T[]> {
    const taken: T[] = [];
    if (count <= 0) return taken;
    for await (const { items } of this.pagesOf(Math.min(count, MAX_PAGE_SIZE))) {
      taken.push(...items.slice(0, count - taken.length));
      if (taken.length >= count) break;
    }
    return taken;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const { items } of this.pages()) yield* items;
  }

  pages(): AsyncIterable<Page<T>> {
    return this.pagesOf(PAGE_SIZE);
  }

  private async *pagesOf(size: number): AsyncGenerator<Page<T>> {
    const { isBody, isOffset, hasTotal } = this.kind;
    const given = (isBody ? this.request['body'] : this.request) as PageRequest;
    const defaults = { limit: size, ...(hasTotal && !isOffset && { total: false }) };
    let query: PageRequest = { ...defaults, ...given };
    for (;;) {
      const request = isBody ? { ...this.request, body: query } : query;
      const page = readAnswer<Page<T>>(await this.fetchPage(request)).data;
      yield page;
      const next = isOffset ? nextOffset(page) : nextCursor(page);
      if (!next) return;
      const { offset: _offset, ...rest } = query;
      query = { ...rest, ...next };
    }
  }
}

const nextCursor = ({ page }: Page<unknown>): PageRequest | null =>
  page.next_cursor ? { cursor: page.next_cursor } : null;

const nextOffset = ({ items, page }: Page<unknown>): PageRequest | null => {
  const offset = page.offset + items.length;
  return items.length > 0 && offset < (page.total ?? Infinity) ? { offset } : null;
};
