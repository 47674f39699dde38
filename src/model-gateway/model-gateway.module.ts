import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountChangesModule } from '#platform/auth';
import { SecretsModule } from '#platform/secrets';
import { RegistryModule } from '../registry';
import { ResourcesModule } from '../resources';
import { BudgetRepository } from './budgets/budget.repository';
import { BudgetService } from './budgets/budget.service';
import { SpendRepository } from './budgets/spend.repository';
import { CurrentKeyService } from './keys/current-key.service';
import { GatewayKeyEntity } from './keys/gateway-key.entity';
import { GatewayKeyRepository } from './keys/gateway-key.repository';
import { GatewayKeyService } from './keys/gateway-key.service';
import { KeyAccounts } from './keys/key-accounts';
import { KeyLimitsRepository } from './keys/key-limits.repository';
import { CalledModelRepository } from './models/called-model.repository';
import { ModelDirectory } from './models/model-directory';
import { ModelEntity } from './models/model.entity';
import { ModelRepository } from './models/model.repository';
import { ModelService } from './models/model.service';
import { ProviderChanges } from './providers/provider-changes';
import { ProviderEntity } from './providers/provider.entity';
import { ProviderRepository } from './providers/provider.repository';
import { ProviderService } from './providers/provider.service';
import { UsageRepository } from './usage/usage.repository';
import { UsageService } from './usage/usage.service';

const SERVICES = [
  ModelDirectory,
  ProviderService,
  ProviderChanges,
  ModelService,
  GatewayKeyService,
  CurrentKeyService,
  KeyAccounts,
  BudgetService,
  UsageService,
];

const REPOSITORIES = [
  ProviderRepository,
  ModelRepository,
  CalledModelRepository,
  GatewayKeyRepository,
  KeyLimitsRepository,
  BudgetRepository,
  SpendRepository,
  UsageRepository,
];

/** The repositories that calls use. */
const CALLED = [BudgetRepository, KeyLimitsRepository, SpendRepository, UsageRepository];

/** Providers, models, keys, budgets and usage of the model gateway, without routes, for the API and the worker. */
@Module({
  imports: [
    TypeOrmModule.forFeature([ProviderEntity, ModelEntity, GatewayKeyEntity]),
    AccountChangesModule,
    SecretsModule,
    RegistryModule,
    ResourcesModule,
  ],
  providers: [...SERVICES, ...REPOSITORIES],
  exports: [...SERVICES, ...CALLED],
})
export class ModelGatewayModule {}
