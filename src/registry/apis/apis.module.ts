import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SecretsModule } from '#platform/secrets';
import { ResourcesModule } from '../../resources';
import { ApiDirectory } from './api-directory';
import { ApiReconcileStep } from './api-reconcile.step';
import { ApiEntity } from './api.entity';
import { ApiRepository } from './api.repository';
import { ApiService } from './api.service';

/** Registered APIs, without routes, for the API and the worker. */
@Module({
  imports: [TypeOrmModule.forFeature([ApiEntity]), SecretsModule, ResourcesModule],
  providers: [ApiService, ApiRepository, ApiDirectory, ApiReconcileStep],
  exports: [ApiService, ApiDirectory],
})
export class ApisModule {}
