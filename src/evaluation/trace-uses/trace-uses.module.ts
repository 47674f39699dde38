import { Global, Module } from '@nestjs/common';
import { TraceUses } from '../../telemetry';
import { TraceItemRepository } from '../annotation-queues';
import { ScoreDeletionRepository } from '../scores';
import { TraceTargetRepository } from '../scoring';
import { EvaluationTraceUses } from './evaluation-trace-uses';

/** Lets the area of telemetry, which is on a lower floor, find the uses of traces and delete them together with the traces. */
@Global()
@Module({
  providers: [
    ScoreDeletionRepository,
    TraceItemRepository,
    TraceTargetRepository,
    { provide: TraceUses, useClass: EvaluationTraceUses },
  ],
  exports: [TraceUses],
})
export class TraceUsesModule {}
