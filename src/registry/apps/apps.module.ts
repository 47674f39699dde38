import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ResourcesModule } from '../../resources';
import { AppEntity } from './app.entity';
import { AppDeclarations } from './app-declarations';
import { AppRepository } from './app.repository';
import { AppService } from './app.service';
import { AppReconcileService } from './app-reconcile.service';

/** Apps and their reconciles, for the API and the worker. `RegistryModule` works without this module. */
@Module({
  imports: [TypeOrmModule.forFeature([AppEntity]), ResourcesModule],
  providers: [AppService, AppReconcileService, AppDeclarations, AppRepository],
  exports: [AppService, AppReconcileService, AppRepository],
})
export class AppsModule {}
