import { withoutNullMembers } from './null-members';
import { isEventStream, type ResponseLimits } from './response-limits';
import type { Credential } from './server-credentials';

export interface OperationRequestsOptions {
  /** The origin of the server. The credential is sent only there. */
  origin: string;
  limits: ResponseLimits;
  /** Called when a request has a response. */
  onResponse: () => void;
  /** Receives the failure of a response that exceeds the limits. The SDK would hide it. */
  onExcess: (failure: unknown) => void;
}

/** Sends the requests of one operation with the credential, limits their responses, and removes null members from them. */
export class OperationRequests {
  credential: Credential | null = null;

  constructor(
    private readonly options: OperationRequestsOptions,
    private fetcher: typeof fetch,
  ) {}

  use(fetcher: typeof fetch): void {
    this.fetcher = fetcher;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const headers = new Headers(init?.headers);
    if (this.credential && new URL(url).origin === this.options.origin) {
      headers.set(this.credential.header, this.credential.value);
    }
    const response = await this.fetcher(input, { ...init, headers });
    this.options.onResponse();
    return this.prepare(response);
  };

  private prepare(response: Response): Response {
    const { status, statusText, headers, url, body } = response;
    if (!body) return response;
    const type = headers.get('content-type');
    const scan = this.options.limits.scanner(type);
    const scanning = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        try {
          scan(chunk);
        } catch (error) {
          this.options.onExcess(error);
          throw error;
        }
        controller.enqueue(chunk);
      },
    });
    const messages = body.pipeThrough(scanning).pipeThrough(withoutNullMembers(isEventStream(type)));
    const prepared = new Response(messages, { status, statusText, headers });
    return Object.defineProperty(prepared, 'url', { value: url });
  }
}
