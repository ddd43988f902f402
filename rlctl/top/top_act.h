/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_TOP_ACT_H
#define RLCTL_TOP_ACT_H

/* Actions of top on a key. Each writes its outcome into ui->message. */

#include "top/top_state.h"

void top_act_explain(struct top_ui *ui); /* into ui->text, or says why not */
void top_act_reset(struct top_ui *ui);
void top_act_ban(struct top_ui *ui); /* or exempts */
void top_act_lift(struct top_ui *ui);

#endif
