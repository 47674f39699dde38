import { Injectable } from '@nestjs/common';
import { decodeTraceRequest, OtlpDecodeError, type OtlpRejection } from '#otlp';
import type { Scope } from '#platform/auth';
import { problem } from '#platform/problem';
import type { OtlpBody } from '../otlp-http/otlp-body.decorator';
import { TraceStore } from '../trace-store';

@Injectable()
export class TraceExportService {
  constructor(private readonly store: TraceStore) {}

  /**
   * Stores the spans of an export. When it returns they are committed. Errors: 400 for a body that cannot be read as
   * a whole, of which nothing is stored. @returns which spans were left out because they are invalid.
   */
  async export(scope: Scope, { bytes, encoding }: OtlpBody): Promise<OtlpRejection> {
    const { spans, rejected } = decoded(bytes, encoding);
    await this.store.append(scope, spans);
    return rejected;
  }
}

function decoded(bytes: Buffer, encoding: OtlpBody['encoding']): ReturnType<typeof decodeTraceRequest> {
  try {
    return decodeTraceRequest(bytes, encoding);
  } catch (error) {
    if (error instanceof OtlpDecodeError) throw problem.invalidRequest(error.detail, { cause: error });
    throw error;
  }
}
