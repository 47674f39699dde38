import { Injectable } from '@nestjs/common';

/** The limits of one outbound operation, which may take several requests. */
export interface OutboundLimits {
  /** The deadline of the whole operation. */
  signal: AbortSignal;
  /** The most bytes that all responses of the operation may have together, after decoding. */
  maxBytes: number;
}

/** Sends requests to addresses that tenants give. */
@Injectable()
export class OutboundHttp {
  /** Returns a `fetch` for one operation. */
  fetcher({ signal }: OutboundLimits): typeof fetch {
    return (input, init) => fetch(input, { ...init, signal });
  }
}
