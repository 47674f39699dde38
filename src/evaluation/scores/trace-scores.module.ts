import { Global, Module } from '@nestjs/common';
import { EvaluationEvents, TraceScores } from '../../telemetry';
import { EvaluationEventsRepository } from './evaluation-events.repository';
import { TraceScoresRepository } from './trace-scores.repository';

/** Lets the area of telemetry, which is on a lower floor, read and store the scores of traces. */
@Global()
@Module({
  providers: [
    { provide: TraceScores, useClass: TraceScoresRepository },
    { provide: EvaluationEvents, useClass: EvaluationEventsRepository },
  ],
  exports: [TraceScores, EvaluationEvents],
})
export class TraceScoresModule {}
