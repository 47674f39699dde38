import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountChangesModule } from '#platform/auth';
import { BodyBudgetsModule } from '#platform/http';
import { MetricsModule } from '#platform/metrics';
import { OutboundModule } from '#platform/outbound';
import { SecretsModule } from '#platform/secrets';
import { RegistryModule } from '../registry';
import { ResourcesModule } from '../resources';
import { TelemetryModule } from '../telemetry';
import { BudgetRepository } from './budgets/budget.repository';
import { BudgetService } from './budgets/budget.service';
import { BudgetReservations } from './budgets/budget-reservations';
import { ReservationRepository } from './budgets/reservation.repository';
import { SpendRepository } from './budgets/spend.repository';
import { AnswerCacheRepository } from './calls/answer-cache.repository';
import { CallBudgets } from './calls/call-budgets';
import { CallRecorder } from './calls/call-recorder';
import { GatewayMetrics } from './calls/gateway.metrics';
import { InstalledModels } from './calls/installed-models';
import { InternalCalls } from './calls/internal-calls';
import { LearnedLimits } from './calls/learned-limit';
import { LearnedLimitRepository } from './calls/learned-limit.repository';
import { ModelCaller } from './calls/model-caller';
import { ParsingTurns } from './calls/parsing-turns';
import { ProviderClient } from './calls/provider-client';
import { SpanWriter } from './calls/span.writer';
import { StreamReader } from './calls/stream-reader';
import { TargetCaller } from './calls/target-caller';
import { TargetHealth } from './calls/target-health';
import { TokenCounter } from './calls/token-counter';
import { GatewayKeyEntity } from './keys/gateway-key.entity';
import { GatewayKeyRepository } from './keys/gateway-key.repository';
import { GatewayKeyService } from './keys/gateway-key.service';
import { KeyLimitsRepository } from './keys/key-limits.repository';
import { CalledModelRepository } from './models/called-model.repository';
import { ModelDirectory } from './models/model-directory';
import { ModelEntity } from './models/model.entity';
import { ModelRepository } from './models/model.repository';
import { ModelService } from './models/model.service';
import { TargetFailureRepository } from './models/target-failure.repository';
import { ProviderChanges } from './providers/provider-changes';
import { ProviderEntity } from './providers/provider.entity';
import { ProviderRepository } from './providers/provider.repository';
import { ProviderService } from './providers/provider.service';
import { UsageRepository } from './usage/usage.repository';
import { UsageService } from './usage/usage.service';
import { UsageWriter } from './usage/usage.writer';

const RESOURCES = [
  ProviderService,
  ProviderRepository,
  ProviderChanges,
  ModelService,
  ModelRepository,
  TargetFailureRepository,
  GatewayKeyService,
  GatewayKeyRepository,
  BudgetService,
  SpendRepository,
  UsageService,
  UsageRepository,
];

const CALLS = [
  AnswerCacheRepository,
  BudgetRepository,
  BudgetReservations,
  CallBudgets,
  CalledModelRepository,
  CallRecorder,
  GatewayMetrics,
  InstalledModels,
  InternalCalls,
  KeyLimitsRepository,
  LearnedLimitRepository,
  LearnedLimits,
  ModelCaller,
  ModelDirectory,
  ParsingTurns,
  ProviderClient,
  ReservationRepository,
  SpanWriter,
  StreamReader,
  TargetCaller,
  TargetHealth,
  TokenCounter,
  UsageWriter,
];

/** The model gateway without routes, for the API and the worker. */
@Module({
  imports: [
    TypeOrmModule.forFeature([ProviderEntity, ModelEntity, GatewayKeyEntity]),
    AccountChangesModule,
    BodyBudgetsModule,
    MetricsModule,
    OutboundModule,
    RegistryModule,
    ResourcesModule,
    SecretsModule,
    TelemetryModule,
  ],
  providers: [...RESOURCES, ...CALLS],
  exports: [...RESOURCES, ...CALLS],
})
export class ModelGatewayModule {}
