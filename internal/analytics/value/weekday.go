package value

// Weekdays are the days of the week in order, as the macro weekday_of names them.
var Weekdays = [...]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
