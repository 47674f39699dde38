import { Module } from '@nestjs/common';
import { JobsWorkerModule } from '#platform/jobs';
import { AppSweeper } from './apps/app.sweeper';
import { AppsModule } from './apps/apps.module';
import { LiveWorkspaceModule } from './workspaces/live-workspace.module';

/** What of the registry runs in the worker: the sweeps of apps. */
@Module({ imports: [AppsModule, JobsWorkerModule, LiveWorkspaceModule], providers: [AppSweeper] })
export class RegistryWorkerModule {}
