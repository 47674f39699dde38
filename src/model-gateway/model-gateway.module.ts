import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SecretsModule } from '#platform/secrets';
import { ResourcesModule } from '../resources';
import { BudgetDirectory } from './budgets/budget-directory';
import { BudgetRepository } from './budgets/budget.repository';
import { SpendRepository } from './budgets/spend.repository';
import { GatewayKeyEntity } from './keys/gateway-key.entity';
import { KeyDirectory } from './keys/key-directory';
import { KeyLimitsRepository } from './keys/key-limits.repository';
import { CalledModelRepository } from './models/called-model.repository';
import { ModelDirectory } from './models/model-directory';
import { ModelEntity } from './models/model.entity';
import { ProviderEntity } from './providers/provider.entity';

const DIRECTORIES = [ModelDirectory, KeyDirectory, BudgetDirectory];

/** Providers, models, keys and budgets of the model gateway, without routes: for the API process and the worker. */
@Module({
  imports: [
    TypeOrmModule.forFeature([ProviderEntity, ModelEntity, GatewayKeyEntity]),
    SecretsModule,
    ResourcesModule,
  ],
  providers: [...DIRECTORIES, CalledModelRepository, KeyLimitsRepository, BudgetRepository, SpendRepository],
  exports: DIRECTORIES,
})
export class ModelGatewayModule {}
