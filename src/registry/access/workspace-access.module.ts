import { Module } from '@nestjs/common';
import { WorkspaceAccess } from './workspace-access';
import { WorkspaceAccessRepository } from './workspace-access.repository';

/** What areas need whose resources lie in workspaces and are reached without the workspace header. */
@Module({ providers: [WorkspaceAccess, WorkspaceAccessRepository], exports: [WorkspaceAccess] })
export class WorkspaceAccessModule {}
