import type { AnswerLimits } from './answer-limits';
import type { Credential } from './server-credentials';

export interface OperationRequestsOptions {
  /** Of the server. The secret was given for it alone. */
  origin: string;
  limits: AnswerLimits;
  /** Called when a request is answered. */
  onAnswer: () => void;
  /** Receives the failure of an answer that exceeds the limits, which the SDK would hide. */
  onExcess: (failure: unknown) => void;
}

/** Sends the requests of one operation with the credential, and limits their answers. */
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
    this.options.onAnswer();
    return this.limited(response);
  };

  private limited(response: Response): Response {
    const { status, statusText, headers, url, body } = response;
    if (!body) return response;
    const scan = this.options.limits.scanner(headers.get('content-type'));
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
    const made = new Response(body.pipeThrough(scanning), { status, statusText, headers });
    return Object.defineProperty(made, 'url', { value: url });
  }
}
