package trial

import (
	"fmt"
	"strings"
	"testing"
)

// TestTransition goes the ways that trials go, and refuses others.
func TestTransition(t *testing.T) {
	for _, tt := range []struct {
		way  []Phase
		want string // in the error of the last move, empty for none
	}{
		{[]Phase{Replaying, Training, Waiting, Replaying, Completed, Replaying, Completed, Stopped}, ""},
		{[]Phase{Replaying, Training, Failed}, ""},
		{[]Phase{Stopped, Ended, Ended}, ""},
		{[]Phase{Training}, "trial 7 is waiting and cannot become training"},
		{[]Phase{Replaying, Stopped}, "is replaying and cannot become stopped"},
		{[]Phase{Stopped, Replaying}, "is stopped and cannot become replaying"},
		{[]Phase{Replaying, Failed, Replaying}, "is failed and cannot become replaying"},
		{[]Phase{Ended, Failed}, "is ended and cannot become failed"},
	} {
		at := &Trial{Spec: Spec{Number: 7}}
		var err error
		for i, to := range tt.way {
			if err = at.transition(to, fmt.Sprint("why ", i)); err == nil &&
				(at.Phase() != to || at.Reason() != fmt.Sprint("why ", i)) {
				t.Errorf("%v: it is %v, %q", tt.way, at.Phase(), at.Reason())
			}
			if err != nil && (i < len(tt.way)-1 || at.Phase() == to) {
				t.Errorf("%v: %v, and it is %v", tt.way, err, at.Phase())
			}
		}
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: got error %v, want %q", tt.way, err, tt.want)
		}
	}
}
