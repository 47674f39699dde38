import { Module } from '@nestjs/common';
import { SkillController } from './skill.controller';
import { SkillVersionController } from './skill-version.controller';
import { SkillsModule } from './skills.module';

/** The routes under /skill/v1. */
@Module({ imports: [SkillsModule], controllers: [SkillController, SkillVersionController] })
export class SkillsHttpModule {}
