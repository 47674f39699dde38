import { Module } from '@nestjs/common';
import { TelemetryModule } from '../../telemetry';
import { TraceContentReader } from './trace-content.reader';

/** The input, output and messages of traces, as scorers see them. */
@Module({
  imports: [TelemetryModule],
  providers: [TraceContentReader],
  exports: [TraceContentReader],
})
export class TraceContentModule {}
