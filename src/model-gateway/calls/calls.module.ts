import { Module } from '@nestjs/common';
import { OutboundModule } from '#platform/outbound';
import { TelemetryModule } from '../../telemetry';
import { ModelGatewayModule } from '../model-gateway.module';
import { SpentCache } from '../budgets/spent.cache';
import { UsageWriter } from '../usage/usage.writer';
import { AnswerCacheRepository } from './answer-cache.repository';
import { CallBudgets } from './call-budgets';
import { CallRecorder } from './call-recorder';
import { InstalledModels } from './installed-models';
import { InternalCalls } from './internal-calls';
import { LearnedLimits } from './learned-limit';
import { LearnedLimitRepository } from './learned-limit.repository';
import { ModelCaller } from './model-caller';
import { ProviderClient } from './provider-client';
import { SpanWriter } from './span.writer';
import { TargetCaller } from './target-caller';

/** Model calls, without routes, for the API and the worker. */
@Module({
  imports: [ModelGatewayModule, OutboundModule, TelemetryModule],
  providers: [
    AnswerCacheRepository,
    CallBudgets,
    CallRecorder,
    InstalledModels,
    InternalCalls,
    LearnedLimitRepository,
    LearnedLimits,
    ModelCaller,
    ProviderClient,
    SpanWriter,
    SpentCache,
    TargetCaller,
    UsageWriter,
  ],
  exports: [
    AnswerCacheRepository,
    CallBudgets,
    InstalledModels,
    InternalCalls,
    LearnedLimitRepository,
    ModelCaller,
  ],
})
export class CallsModule {}
