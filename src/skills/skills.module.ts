import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { StorageModule } from '#platform/storage';
import { ResourcesModule } from '../resources';
import { SkillBlobRepository } from './content/skill-blob.repository';
import { SkillContentsStep } from './content/skill-contents.step';
import { SkillContents } from './content/skill-contents';
import { SkillReconcileStep } from './reconcile/skill-reconcile.step';
import { SkillDirectory } from './skills/skill-directory';
import { SkillPackager } from './skills/skill.packager';
import { SkillUploadService } from './skills/skill-upload.service';
import { SkillWriter } from './skills/skill-writer';
import { SkillEntity } from './skills/skill.entity';
import { SkillRepository } from './skills/skill.repository';
import { SkillService } from './skills/skill.service';

/** Skills, without routes: for the API and the worker. */
@Module({
  imports: [TypeOrmModule.forFeature([SkillEntity]), ResourcesModule, StorageModule],
  providers: [
    SkillService,
    SkillUploadService,
    SkillDirectory,
    SkillWriter,
    SkillContents,
    SkillContentsStep,
    SkillPackager,
    SkillReconcileStep,
    SkillRepository,
    SkillBlobRepository,
  ],
  exports: [SkillService, SkillUploadService, SkillDirectory, SkillReconcileStep],
})
export class SkillsModule {}
