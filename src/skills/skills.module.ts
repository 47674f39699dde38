import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditLogModule, ReconcileStepsModule, SearchIndexModule, WorkspaceAccessModule } from '../registry';
import { SkillBlobRepository } from './content/skill-blob.repository';
import { SkillContents } from './content/skill-contents';
import { SkillOwnerRepository } from './reconcile/skill-owner.repository';
import { SkillReconcileStep } from './reconcile/skill-reconcile.step';
import { SkillDirectory } from './skill-directory';
import { SkillEntity } from './skill.entity';
import { SkillRepository } from './skill.repository';
import { SkillService } from './skill.service';
import { SkillUploadService } from './skill-upload.service';
import { SkillVersionRepository } from './skill-version.repository';
import { SkillVersionService } from './skill-version.service';
import { SkillWriter } from './skill-writer';

const SERVICES = [SkillService, SkillVersionService, SkillUploadService, SkillDirectory];

/** Skills: their logic, and their part in the sweep of an app, for the API and the worker alike. */
@Module({
  imports: [
    TypeOrmModule.forFeature([SkillEntity]),
    AuditLogModule,
    ReconcileStepsModule,
    SearchIndexModule,
    WorkspaceAccessModule,
  ],
  providers: [
    ...SERVICES,
    SkillWriter,
    SkillContents,
    SkillReconcileStep,
    SkillRepository,
    SkillVersionRepository,
    SkillBlobRepository,
    SkillOwnerRepository,
  ],
  exports: [...SERVICES, SkillReconcileStep],
})
export class SkillsModule {}
