import { Injectable } from '@nestjs/common';
import { decodeTraceRequest, type DecodedTraceRequest } from '#otlp';
import { ExportMetrics } from '../exports/export.metrics';
import { GroupSlots } from '../exports/group-slots';
import { ExportQueue } from '../exports/export-queue';
import { TraceStore } from '../trace-store';

/** Takes exports of traces. */
@Injectable()
export class TraceExportService extends ExportQueue<DecodedTraceRequest> {
  constructor(store: TraceStore, metrics: ExportMetrics, slots: GroupSlots) {
    super(metrics, slots, {
      signal: 'traces',
      decode: decodeTraceRequest,
      addRepeated: (repeated, { spans }) => repeated.addSources(spans),
      store: (exports) =>
        store.append(exports.map(({ scope, request }) => ({ scope, spans: request.spans }))),
    });
  }
}
