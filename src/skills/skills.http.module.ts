import { Module } from '@nestjs/common';
import { SkillController } from './skills/skill.controller';
import { SkillIndexController } from './skills/skill-index.controller';
import { SkillLabelController } from './skills/skill-label.controller';
import { SkillVersionController } from './skills/skill-version.controller';
import { SkillsModule } from './skills.module';

/** The routes under /skill/v1. */
@Module({
  imports: [SkillsModule],
  controllers: [SkillController, SkillIndexController, SkillLabelController, SkillVersionController],
})
export class SkillsHttpModule {}
