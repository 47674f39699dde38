import { Module } from '@nestjs/common';
import { OutboundModule } from '#platform/outbound';
import { TelemetryModule } from '../../telemetry';
import { ModelGatewayModule } from '../model-gateway.module';
import { Budgets } from '../spending/budgets';
import { SpentCache } from '../spending/spent.cache';
import { UsageWriteRepository } from '../spending/usage-write.repository';
import { UsageWriter } from '../spending/usage.writer';
import { AnswerCache } from './answer-cache';
import { AnswerCacheRepository } from './answer-cache.repository';
import { CallRecorder } from './call-recorder';
import { InternalCalls } from './internal-calls';
import { ModelCaller } from './model-caller';
import { ProviderClient } from './provider-client';
import { Shaper, ShapingPool } from './shaper';
import { SpanWriter } from './span.writer';
import { TargetCaller } from './target-caller';

/** Model calls, without routes, for the API and the worker. */
@Module({
  imports: [ModelGatewayModule, OutboundModule, TelemetryModule],
  providers: [
    AnswerCache,
    AnswerCacheRepository,
    Budgets,
    CallRecorder,
    InternalCalls,
    ModelCaller,
    ProviderClient,
    Shaper,
    ShapingPool,
    SpanWriter,
    SpentCache,
    TargetCaller,
    UsageWriteRepository,
    UsageWriter,
  ],
  exports: [AnswerCacheRepository, Budgets, InternalCalls, ModelCaller, Shaper],
})
export class CallsModule {}
