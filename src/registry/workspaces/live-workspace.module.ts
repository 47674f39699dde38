import { Module } from '@nestjs/common';
import { LiveWorkspaceRepository } from './live-workspace.repository';

/** What a worker needs of the registry to know where it may work. */
@Module({ providers: [LiveWorkspaceRepository], exports: [LiveWorkspaceRepository] })
export class LiveWorkspaceModule {}
